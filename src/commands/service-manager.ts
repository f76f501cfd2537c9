import { spawn } from 'node:child_process'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'

/** Reports to systemd (sd_notify(3)): ready, alive, stopping. */
export interface ServiceManager {
  /** `status` is shown by `systemctl status`. Starts the watchdog's signs of life, if there is a watchdog. */
  ready(status: string): void
  stopping(): void
}

export interface ServiceManagerDeps {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Log, 'warn'>
  readonly pid: number
}

/** Node cannot open Unix datagram sockets, so systemd's own tool sends. It is installed wherever systemd is. */
const TOOL = 'systemd-notify'
/** systemd expects a sign of life at least every half of WATCHDOG_USEC; a third leaves room for a late one. */
const SIGNS_OF_LIFE = 3

/** Does nothing where systemd does not listen. */
export function createServiceManager({ env, clock, log, pid }: ServiceManagerDeps): ServiceManager {
  const listens = (env.NOTIFY_SOCKET ?? '') !== ''
  const everyMs = watchdogMs(env, pid) / SIGNS_OF_LIFE
  let timer: Timer | null = null
  let complained = false

  function notify(...states: readonly string[]): void {
    if (!listens) return
    const complain = (problem: string) => {
      if (complained) return
      complained = true
      log.warn({ problem }, 'systemd-notify failed; Type=notify and WatchdogSec= need it')
    }
    const child = spawn(TOOL, states, { stdio: 'ignore', env })
    child.on('error', (error: NodeJS.ErrnoException) => complain(error.code ?? error.name))
    child.on('exit', (status) => {
      if (status !== 0) complain(`ended with ${status}`)
    })
    child.unref()
  }

  /** A timer, so that a blocked event loop stops the signs of life and systemd restarts the process. */
  function feed(): void {
    timer = clock.after(everyMs, () => {
      notify('WATCHDOG=1')
      feed()
    })
  }

  return {
    ready(status) {
      notify('READY=1', `STATUS=${status}`)
      if (listens && Number.isFinite(everyMs)) feed()
    },
    stopping() {
      timer?.cancel()
      notify('STOPPING=1')
    },
  }
}

/** `WATCHDOG_PID` names the supervised process; a child that inherited the variables has no watchdog. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv, pid: number): number {
  const ms = Number(WATCHDOG_USEC) / 1000
  const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid)
  return isOurs && ms > 0 ? ms : Number.POSITIVE_INFINITY
}
