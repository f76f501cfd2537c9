import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sumOf } from '../test/proof/scene.ts'
import { startDaemon, until } from '../test/support/daemon.ts'
import { startFleetProcess } from './support.ts'

/**
 * All endpoints of a daemon fail within a minute: how late its polls are, and how long one turn of its event loop takes. Each
 * endpoint has a host of its own, and so its own incident, or all are of one provider, which is one incident. With three
 * channels: a webhook, one that hangs, and PagerDuty. Run with `npx tsx bench/incidents.ts [endpoints [hosts|provider]]`.
 */
const COUNTS = [1000, 5000]
const SHARING = ['hosts', 'provider'] as const
const CHANNELS = [false, true]
/** Polls come once in 45 s, so that all are confirmed within a minute. */
const INTERVAL = '45s'
const FLOOD_MS = 60_000
/** Their answers show that Heartline's own network works. */
const HEALTHY = 10
const [givenCount, givenSharing] = process.argv.slice(2)

interface Case {
  readonly count: number
  readonly sharing: (typeof SHARING)[number]
  readonly hasChannels: boolean
}

async function measure({ count, sharing, hasChannels }: Case): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-incidents-'))
  const fleet = await startFleetProcess({ family: 'ethereum', count, origins: count, blockTimeMs: 10_000 })
  const healthy = await startFleetProcess({ family: 'ethereum', count: HEALTHY, origins: HEALTHY, blockTimeMs: 10_000 })
  const receiver = await startReceiver()
  const provider = sharing === 'provider' ? { provider: 'acme' } : {}
  const endpoints = fleet.urls.map((url, at) => ({ name: `e${at}`, url, ...provider }))
  const times = join(folder, 'turns.json')
  const preload = fileURLToPath(new URL('./turn-times.mjs', import.meta.url))
  const others = healthy.urls.map((url, at) => ({ name: `e${at}`, url }))
  const networks = [
    { name: 'net', family: 'ethereum', endpoints },
    { name: 'healthy', family: 'ethereum', poll: { interval: '5s' }, endpoints: others },
  ]
  const notify = hasChannels ? { notify: { channels: receiver.channels } } : {}
  const config = { poll: { interval: INTERVAL }, networks, ...notify }
  const env = { NODE_OPTIONS: `--import ${preload}`, TURN_TIMES: times }
  const daemon = await startDaemon(config, { folder, env, early: true })
  // Its main thread alone, so that other load of the machine makes no poll late. Needs root.
  setPriority(daemon.process.pid ?? 0, -20)
  const metrics = async () => (await daemon.get('/metrics')).text
  await until(async () => (await daemon.get('/-/ready')).status === 200, 'all are polled', 2 * FLOOD_MS)

  const before = await metrics()
  const startedAt = Date.now()
  fleet.stop()
  await new Promise((resolve) => setTimeout(resolve, FLOOD_MS))
  const endedAt = Date.now()
  const after = await metrics()
  await daemon.stop()
  receiver.stop()
  healthy.stop()
  const turns = (JSON.parse(readFileSync(times, 'utf8')) as { at: number; ms: number }[])
    .filter(({ at }) => at > startedAt && at < endedAt)
    .map(({ ms }) => ms)
  rmSync(folder, { recursive: true, force: true })
  const cpu = (text: string) => Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
  return [
    String(count),
    sharing,
    hasChannels ? 'three' : 'none',
    String(sumOf(after, 'incidents_open')),
    (cpu(after) - cpu(before)).toFixed(1),
    Math.max(0, ...turns).toFixed(0),
    String(turns.filter((ms) => ms > 50).length),
    lateness(before, after, 0.5),
    lateness(before, after, 0.99),
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

console.log(
  'endpoints | sharing | channels | incidents | CPU s | longest turn, ms | turns > 50 ms | late p50 | p99 | requests',
)
for (const sharing of SHARING.filter((one) => givenSharing === undefined || one === givenSharing)) {
  for (const hasChannels of CHANNELS) {
    for (const count of givenCount === undefined ? COUNTS : [Number(givenCount)]) {
      console.log((await measure({ count, sharing, hasChannels })).join(' | '))
    }
  }
}
