import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type Clock, repeat, type Timer } from '../clock.ts'
import type { Log } from '../log.ts'

/** Reports to systemd (sd_notify(3)) that the daemon is ready, alive or stopping; does nothing without systemd. */
export function createServiceManager({ env, clock, log, pid }: ServiceManagerDeps) {
  const listens = (env.NOTIFY_SOCKET ?? '') !== ''
  const everyMs = watchdogMs(env, pid) / SIGNS_OF_LIFE
  const spare = listens ? createSpareDescriptors() : null
  let timer: Timer | null = null
  let complained = false

  function notify(...states: readonly string[]): void {
    if (!listens) return
    const complain = (problem: string) => {
      if (complained) return
      complained = true
      log.warn({ problem }, 'systemd-notify failed; Type=notify and WatchdogSec= need it')
    }
    spare?.release()
    // The tool gets only what it needs, because the environment contains the configuration's secrets.
    const child = spawn(TOOL, states, { stdio: 'ignore', env: { PATH: env.PATH, NOTIFY_SOCKET: env.NOTIFY_SOCKET } })
    spare?.refill()
    child.on('error', (error: NodeJS.ErrnoException) => complain(error.code ?? error.name))
    child.on('exit', (status) => {
      if (status !== 0) complain(`ended with ${status}`)
    })
    child.unref()
  }

  return {
    /** `systemctl status` shows `status`. Starts the watchdog notifications if there is a watchdog. */
    ready(status: string): void {
      notify('READY=1', `STATUS=${status}`)
      // A timer sends these, so that a blocked event loop stops them and systemd restarts the process.
      if (listens && Number.isFinite(everyMs)) timer = repeat(clock, everyMs, () => notify('WATCHDOG=1'))
    },
    stopping(): void {
      timer?.cancel()
      notify('STOPPING=1')
    },
  }
}

export interface ServiceManagerDeps {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Log, 'warn'>
  readonly pid: number
}

/** Node.js cannot open Unix datagram sockets, so systemd's own tool sends. It is installed wherever systemd is. */
const TOOL = 'systemd-notify'
/** systemd recommends a notification every half of WATCHDOG_USEC; a third leaves room for a late one. */
const SIGNS_OF_LIFE = 3

/**
 * File descriptors kept open for systemd-notify: the watchdog must not restart a daemon that is only short of
 * descriptors. Starting a process takes five of them.
 */
function createSpareDescriptors() {
  let held: number[] = []

  function refill(): void {
    try {
      while (held.length < SPARE_DESCRIPTORS) held.push(openSync('/dev/null', 'r'))
    } catch {
      // No descriptor is free; the next notification refills.
    }
  }

  refill()
  return {
    refill,
    release(): void {
      for (const descriptor of held) closeSync(descriptor)
      held = []
    },
  }
}

const SPARE_DESCRIPTORS = 8

/** `WATCHDOG_PID` names the supervised process; a child that inherited the variables has no watchdog. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv, pid: number): number {
  const ms = Number(WATCHDOG_USEC) / 1000
  const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid)
  return isOurs && ms > 0 ? ms : Number.POSITIVE_INFINITY
}
