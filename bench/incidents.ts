import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/clock.ts'
import { sumOf } from '../test/proof/scene.ts'
import { startDaemon, until } from '../test/support/daemon.ts'
import { startFleet } from './fleet.ts'
import { quantile, startFleetProcess } from './support.ts'

/**
 * All endpoints of a daemon fail, at once or one after the other within a minute: how late its polls are, also as 100 healthy
 * nodes see them, and how long one turn of its event loop takes. Each endpoint has a host of its own, and so its own incident,
 * or all are of one provider, which is one incident. With three channels: a webhook, one that hangs, and PagerDuty. Run with
 * `npx tsx bench/incidents.ts [endpoints [hosts|provider [once|minute [none|three]]]]`.
 */
const COUNTS = [1000, 5000]
const SHARING = ['hosts', 'provider'] as const
const BEGINNINGS = ['once', 'minute'] as const
const CHANNELS = ['none', 'three'] as const
/** Polls come once in 45 s: those of endpoints that fail at once find that within a minute. */
const INTERVAL = '45s'
const MINUTE_MS = 60_000
/** Their answers show that Heartline's own network works. */
const HEALTHY = 100
const HEALTHY_EVERY_MS = 5000
/** Before they fail, to compare with. */
const CALM_MS = 20_000
const [givenCount, givenSharing, givenBeginning, givenChannels] = process.argv.slice(2)

interface Case {
  readonly count: number
  readonly sharing: (typeof SHARING)[number]
  readonly beginning: (typeof BEGINNINGS)[number]
  readonly channels: (typeof CHANNELS)[number]
}

async function measure({ count, sharing, beginning, channels }: Case): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-incidents-'))
  const fleet = await startFleetProcess({ family: 'ethereum', count, origins: count, blockTimeMs: 10_000 })
  const seen = Array.from({ length: HEALTHY }, (): number[] => [])
  const healthy = await startFleet({
    clock: systemClock,
    family: 'ethereum',
    count: HEALTHY,
    origins: HEALTHY,
    blockTimeMs: 10_000,
    onRequest: (index) => seen[index]?.push(performance.now()),
  })
  const receiver = await startReceiver()
  const provider = sharing === 'provider' ? { provider: 'acme' } : {}
  const endpoints = fleet.urls.map((url, at) => ({ name: `e${at}`, url, ...provider }))
  const times = join(folder, 'turns.json')
  const preload = fileURLToPath(new URL('./turn-times.mjs', import.meta.url))
  const others = healthy.urls.map((url, at) => ({ name: `e${at}`, url }))
  const networks = [
    { name: 'net', family: 'ethereum', endpoints },
    { name: 'healthy', family: 'ethereum', poll: { interval: `${HEALTHY_EVERY_MS}ms` }, endpoints: others },
  ]
  const notify = channels === 'three' ? { notify: { channels: receiver.channels } } : {}
  const config = { poll: { interval: INTERVAL }, networks, ...notify }
  const env = { NODE_OPTIONS: `--import ${preload}`, TURN_TIMES: times }
  const daemon = await startDaemon(config, { folder, env, early: true })
  const metrics = async () => (await daemon.get('/metrics')).text
  await until(async () => (await daemon.get('/-/ready')).status === 200, 'all are polled', 2 * MINUTE_MS)

  const calmFrom = performance.now()
  await new Promise((resolve) => setTimeout(resolve, CALM_MS))
  const before = await metrics()
  const startedAt = Date.now()
  const from = performance.now()
  fleet.fail(beginning === 'once' ? 0 : MINUTE_MS)
  // What fails last is found an interval later.
  await new Promise((resolve) => setTimeout(resolve, beginning === 'once' ? MINUTE_MS : 2 * MINUTE_MS))
  const endedAt = Date.now()
  const after = await metrics()
  const calm = seen.flatMap((times) => latenessOf(times, calmFrom, from))
  const lateMs = seen.flatMap((times) => latenessOf(times, from, performance.now()))
  await daemon.stop()
  receiver.stop()
  fleet.stop()
  await healthy.stop()
  const turns = (JSON.parse(readFileSync(times, 'utf8')) as { at: number; ms: number }[])
    .filter(({ at }) => at > startedAt && at < endedAt)
    .map(({ ms }) => ms)
  rmSync(folder, { recursive: true, force: true })
  const cpu = (text: string) => Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
  return [
    String(count),
    sharing,
    beginning,
    channels,
    String(sumOf(after, 'incidents_open')),
    (cpu(after) - cpu(before)).toFixed(1),
    Math.max(0, ...turns).toFixed(0),
    String(turns.filter((ms) => ms > 50).length),
    lateness(before, after, 0.5),
    lateness(before, after, 0.99),
    `${quantile(calm, 0.99).toFixed(0)} ms`,
    `${quantile(lateMs, 0.99).toFixed(0)} ms`,
    `${quantile(lateMs, 1).toFixed(0)} ms`,
    String(receiver.requests()),
  ]
}

async function startReceiver() {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url === '/hang') return
      requests++
      response.writeHead(request.url?.startsWith('/pager') ? 202 : 200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    channels: [
      { name: 'hook', type: 'webhook', url: `${url}/hook` },
      { name: 'hanging', type: 'webhook', url: `${url}/hang` },
      { name: 'pager', type: 'pagerduty', routing_key: '0'.repeat(32), api_url: `${url}/pager` },
    ],
    requests: () => requests,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** By how much each poll of a node in [from, to) was later than the rhythm of its earliest ones, in ms. */
function latenessOf(requests: readonly number[], from: number, to: number): number[] {
  // A poll may send several requests.
  const polls = requests.filter((at, index) => at - (requests[index - 1] ?? 0) > HEALTHY_EVERY_MS / 2)
  const [first = 0] = polls
  const shifts = polls.map((at) => at - first - Math.round((at - first) / HEALTHY_EVERY_MS) * HEALTHY_EVERY_MS)
  const earliest = Math.min(...shifts)
  return polls.flatMap((at, index) => (at < from || at >= to ? [] : [(shifts[index] ?? 0) - earliest]))
}

/** The smallest bound of the histogram below which this share of the polls between both was late. */
function lateness(before: string, after: string, share: number): string {
  const polls = sumOf(after, 'scheduler_lag_seconds_count') - sumOf(before, 'scheduler_lag_seconds_count')
  const earlier = new Map(lateBuckets(before))
  const found = lateBuckets(after).find(([bound, count]) => count - (earlier.get(bound) ?? 0) >= share * polls)
  return found === undefined ? 'unknown' : `${1000 * Number(found[0])} ms`
}

function lateBuckets(exposition: string): [bound: string, polls: number][] {
  const buckets = exposition.matchAll(/^heartline_scheduler_lag_seconds_bucket\{le="(.+)"\} (\d+)$/gm)
  return Array.from(buckets, ([, bound = '', polls]) => [bound, Number(polls)])
}

// This process and all that it starts: no other work of the machine makes a poll late. Needs root.
execFileSync('chrt', ['--rr', '--all-tasks', '--pid', '1', String(process.pid)])
console.log(
  'endpoints | sharing | fail | channels | incidents | CPU s | longest turn, ms | turns > 50 ms | late p50 | p99 | at nodes before p99 | p99 | longest | requests',
)
const chosen = <T extends string>(all: readonly T[], given: string | undefined) =>
  all.filter((one) => given === undefined || one === given)
for (const count of givenCount === undefined ? COUNTS : [Number(givenCount)]) {
  for (const sharing of chosen(SHARING, givenSharing)) {
    for (const beginning of chosen(BEGINNINGS, givenBeginning)) {
      for (const channels of chosen(CHANNELS, givenChannels)) {
        console.log((await measure({ count, sharing, beginning, channels })).join(' | '))
      }
    }
  }
}
