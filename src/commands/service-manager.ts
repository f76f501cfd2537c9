import { spawn } from 'node:child_process'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'

/** Tells systemd how it goes with us (sd_notify(3)): that we are ready, that we are still alive, that we are stopping. */
export interface ServiceManager {
  /** `status` is shown by `systemctl status`. From here on the watchdog is fed, if there is one. */
  ready(status: string): void
  stopping(): void
}

export interface ServiceManagerDeps {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Log, 'warn'>
  readonly pid: number
}

/** Node can open no datagram socket of the file system, so systemd's own tool is asked to. It is there wherever systemd is. */
const TOOL = 'systemd-notify'
/** systemd asks for one sign of life in half of the time at least; the third leaves room for one that is late. */
const SIGNS_OF_LIFE = 3

/** Does nothing where no systemd waits for it. */
export function createServiceManager({ env, clock, log, pid }: ServiceManagerDeps): ServiceManager {
  const listens = (env.NOTIFY_SOCKET ?? '') !== ''
  const everyMs = watchdogMs(env, pid) / SIGNS_OF_LIFE
  let timer: Timer | null = null
  let complained = false

  function tell(...states: readonly string[]): void {
    if (!listens) return
    const complain = (problem: string) => {
      if (complained) return
      complained = true
      log.warn({ problem }, 'systemd could not be told how it goes: Type=notify and WatchdogSec= need systemd-notify')
    }
    const child = spawn(TOOL, states, { stdio: 'ignore', env })
    child.on('error', (error: NodeJS.ErrnoException) => complain(error.code ?? error.name))
    child.on('exit', (status) => {
      if (status !== 0) complain(`ended with ${status}`)
    })
    child.unref()
  }

  /** A timer: where the event loop hangs none runs, systemd hears nothing, and starts us anew. */
  function feed(): void {
    timer = clock.after(everyMs, () => {
      tell('WATCHDOG=1')
      feed()
    })
  }

  return {
    ready(status) {
      tell('READY=1', `STATUS=${status}`)
      if (listens && Number.isFinite(everyMs)) feed()
    },
    stopping() {
      timer?.cancel()
      tell('STOPPING=1')
    },
  }
}

/** `WATCHDOG_PID` names whom it is about; a process that merely inherited the variables has no watchdog. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv, pid: number): number {
  const ms = Number(WATCHDOG_USEC) / 1000
  const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid)
  return isOurs && ms > 0 ? ms : Number.POSITIVE_INFINITY
}
