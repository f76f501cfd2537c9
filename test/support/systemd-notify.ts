import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A systemd-notify in place of the real one, which records what the daemon sends and when. */
export function recordNotifications(folder: string, watchdogMs: number): Notifications {
  const file = join(folder, 'notified')
  const tool = join(folder, 'systemd-notify')
  writeFileSync(tool, `#!/bin/sh\necho "$(date +%s%N) $*" >> '${file}'\n`)
  chmodSync(tool, 0o755)
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [])

  return {
    env: {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      NOTIFY_SOCKET: join(folder, 'notify'),
      WATCHDOG_USEC: String(1000 * watchdogMs),
    },
    sent: () => lines().map((line) => line.slice(line.indexOf(' ') + 1)),
    longestGapMs() {
      const times = lines().map((line) => Number.parseInt(line, 10) / 1e6)
      return Math.max(...times.slice(1).map((time, at) => time - times[at]!))
    },
  }
}

export interface Notifications {
  /** For the daemon. */
  readonly env: NodeJS.ProcessEnv
  /** What was sent so far, such as `WATCHDOG=1`. */
  sent(): readonly string[]
  /** Of all notifications so far; systemd restarts a daemon with a gap of `watchdogMs`. */
  longestGapMs(): number
}
