import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Loaded into a measured daemon: how much CPU its main thread takes between two ticks of a short timer, which no other process
 * of the machine makes longer. On exit, writes the time and the milliseconds of each longer stretch to the file `TURN_TIMES`.
 */
const TICK_MS = 5
const LONG_MS = 10
const { TURN_TIMES } = process.env
const turns = []
const cpuMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
let last = cpuMs()

setInterval(() => {
  const now = cpuMs()
  if (now - last > LONG_MS) turns.push({ at: Date.now(), ms: now - last })
  last = now
}, TICK_MS).unref()
process.once('exit', () => TURN_TIMES && writeFileSync(TURN_TIMES, JSON.stringify(turns)))
