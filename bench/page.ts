import { execFileSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { systemClock } from '../src/clock.ts'
import type { HistoryBucket, HistoryQuery } from '../src/store/store.ts'
import { setUp } from '../test/http/setting.ts'
import { endpoint, good, head, network } from '../test/support/network.ts'

/**
 * What the page costs with 300 endpoints and a day of history of each: bytes of the first view, milliseconds to draw it here, to
 * the first paint in Chromium, and of script an event. Prints a table.
 */
const ENDPOINTS = 300
const EVENTS = 40
/** A flush of the event stream is at most so far from the next. */
const APART_MS = 400

function figure(what: string, value: string): void {
  console.log(`${what.padEnd(64)} ${value}`)
}

function bucket(start: number, widthMs: number): HistoryBucket {
  const bad = (start / widthMs) % 31 === 0
  const times = { upMs: bad ? 0 : widthMs, degradedMs: 0, downMs: bad ? widthMs : 0, maintenanceMs: 0, unknownMs: 0 }
  const latencies = { latencyP50Ms: 10, latencyP95Ms: 20, latencyMaxMs: 30 }
  return {
    start,
    ...times,
    ...latencies,
    polls: 60,
    height: 1,
    lagBlocksMax: bad ? 12 : 0,
    heartbeatLagMaxMs: null,
    contiguousFailuresMax: null,
  }
}

const history = async ({ from, to, stepMs }: HistoryQuery) =>
  Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => bucket(from + at * stepMs, stepMs))
const endpoints = Array.from({ length: ENDPOINTS }, (_, at) =>
  endpoint(`node-${at}`, { title: `Node ${at}`, intervalMs: 600_000 }),
)

execFileSync(process.execPath, ['.ci/page.mjs'])
const { server, world } = setUp({
  realClock: systemClock,
  networks: [{ network: network(), endpoints }],
  store: { history },
})
await world.pollAll()
const { port } = await server.listen()
const address = `http://127.0.0.1:${port}/`
await server.inject('/api/v1/strips')

const drawing: number[] = []
for (let round = 0; round < 12; round++) {
  await new Promise((resolve) => setTimeout(resolve, 1010))
  const before = systemClock.monotonic()
  await server.inject('/')
  drawing.push(systemClock.monotonic() - before)
}
figure('drawing the overview here, median', `${median(drawing).toFixed(0)} ms`)

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const paints: number[] = []
for (let round = 0; round < 5; round++) {
  const page = await (await browser.newContext()).newPage()
  await page.goto(address)
  await page.locator('.lamp.on').waitFor()
  paints.push(
    await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN),
  )
  await page.context().close()
}
figure('first paint, median of five cold caches', `${median(paints).toFixed(0)} ms`)

const page = await (await browser.newContext()).newPage()
const files: Promise<{ path: string; bytes: number }>[] = []
page.on('response', (response) => {
  if (response.url().includes('/assets/')) {
    files.push(
      response.body().then((body) => ({ path: new URL(response.url()).pathname, bytes: gzipSync(body).length })),
    )
  }
})
await page.goto(address)
await page.locator('.lamp.on').waitFor()
const bytes = (await Promise.all(files)).reduce((sum, file) => sum + file.bytes, 0)
figure(
  'scripts, style and icon of the first view, compressed',
  `${(bytes / 1000).toFixed(1)} KB in ${files.length} files`,
)
const { rawPayload } = await server.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } })
figure('the document itself, compressed', `${(rawPayload.length / 1000).toFixed(1)} KB`)

const session = await page.context().newCDPSession(page)
await session.send('Performance.enable')
for (const changed of [1, 30]) {
  await page.waitForTimeout(2000)
  const before = await scriptMs()
  for (let event = 0; event < EVENTS; event++) {
    for (const one of endpoints.slice(0, changed)) {
      await world.poll(one, { heads: [{ shard: null, outcome: good(head(1001 + event, systemClock.now())) }] })
    }
    await page.waitForTimeout(APART_MS)
  }
  figure(
    `script an event that changes ${changed} of ${ENDPOINTS}`,
    `${(((await scriptMs()) - before) / EVENTS).toFixed(1)} ms`,
  )
}
await browser.close()
await server.close()

async function scriptMs(): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN) * 1000
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
