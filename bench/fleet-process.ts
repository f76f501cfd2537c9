import { systemClock } from '../src/clock.ts'
import { startFleet } from './fleet.ts'

/**
 * Runs a fleet in its own process: takes its options as one JSON argument, sends its URLs to its parent (or prints them as one
 * JSON line), and ends with the parent. A number from the parent is the time in which all endpoints fail.
 */
const fleet = await startFleet({ ...JSON.parse(process.argv[2] ?? '{}'), clock: systemClock })
const hello = { urls: fleet.urls }
if (process.send) process.send(hello)
else process.stdout.write(`${JSON.stringify(hello)}\n`)

const end = () => void fleet.stop().then(() => process.exit(0))
process.on('message', (overMs) => fleet.fail(Number(overMs)))
process.once('disconnect', end)
process.once('SIGTERM', end)
process.once('SIGINT', end)
