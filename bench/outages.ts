import { runOutages } from '../test/gateway/outages.ts'
import { quantile } from './support.ts'

/**
 * Three anvils behind the whole daemon, asked at a constant rate: one is rolled back, one is stopped with SIGSTOP, one is killed.
 * How many callers saw an error or a height that went down, and how long they waited. Run with `npx tsx bench/outages.ts [seconds]`.
 */
const PER_SECOND = 500
const outageMs = 1000 * Number(process.argv[2] ?? 20)

const { requests, errors, lower, missing, advanced, answeredBy, latenciesMs } = await runOutages({
  perSecond: PER_SECOND,
  outageMs,
})

for (const wrong of [...errors, ...lower, ...missing].slice(0, 20)) console.log(wrong)
console.log(
  `${requests} requests at ${PER_SECOND}/s while the chain made ${advanced} blocks; ${outageMs / 1000} s an outage`,
)
console.log(`errors ${errors.length}, heights that went down ${lower.length}, known blocks missing ${missing.length}`)
console.log(`answered by ${JSON.stringify(answeredBy)}`)
const ms = (share: number) => `${quantile(latenciesMs, share).toFixed(1)} ms`
console.log(`waited: p50 ${ms(0.5)}, p99 ${ms(0.99)}, p99.9 ${ms(0.999)}, longest ${ms(1)}`)
