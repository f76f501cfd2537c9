import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { systemClock } from '../src/clock.ts'
import { endpointKey } from '../src/core/endpoint.ts'
import { createStripSource } from '../src/http/history/strips.ts'
import { setUp } from '../test/http/setting.ts'
import { recordingLog } from '../test/support/log.ts'
import { endpoint, good, head, network } from '../test/support/network.ts'
import { dayOfHistory } from './day-of-history.ts'

/**
 * The cost of the page with 300 endpoints and a day of history: bytes of the first view, milliseconds to read the history, to
 * draw the page, to the first paint in Chromium, and of script per event. Prints a table.
 */
const ENDPOINTS = 300
const EVENTS = 40
/** Longer than the event stream waits between two events. */
const APART_MS = 400

function figure(what: string, value: string): void {
  console.log(`${what.padEnd(64)} ${value}`)
}

const endpoints = Array.from({ length: ENDPOINTS }, (_, at) =>
  endpoint(`node-${at}`, { title: `Node ${at}`, intervalMs: 600_000 }),
)

execFileSync(process.execPath, ['scripts/page.mjs'])
const { store, remove } = await dayOfHistory(endpoints.map(endpointKey))
const { server, world } = setUp({
  realClock: systemClock,
  networks: [{ network: network(), endpoints }],
  store: { history: (query) => store.history(query) },
})
await world.pollAll()
const { port } = await server.listen()
const address = `http://127.0.0.1:${port}/`
await strips()
await server.inject('/api/v1/strips')

const drawing: number[] = []
for (let round = 0; round < 12; round++) {
  await new Promise((resolve) => setTimeout(resolve, 1010))
  const before = systemClock.monotonic()
  await server.inject('/')
  drawing.push(systemClock.monotonic() - before)
}
figure('drawing the overview in the daemon, median', `${median(drawing).toFixed(0)} ms`)

const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((file) => existsSync(file))
const browser = await chromium.launch({
  ...(executablePath && { executablePath }),
  args: ['--no-sandbox', '--disable-gpu'],
})
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
    `script per event that changes ${changed} of ${ENDPOINTS}`,
    `${(((await scriptMs()) - before) / EVENTS).toFixed(1)} ms`,
  )
}
await browser.close()
await server.close()
await remove()

/** Reads the strips once per simulated minute, as an open page does. */
async function strips(): Promise<void> {
  let skippedMs = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs }
  const source = createStripSource({
    board: world.board,
    scopes: { private: world, public: world },
    store,
    clock,
    log: recordingLog(),
  })
  const first = await holding(() => source.read('private', 24))
  const later: { ms: number; heldMs: number }[] = []
  const idle: number[] = []
  for (let minute = 0; minute < 9; minute++) {
    skippedMs += 61_000
    later.push(await holding(() => source.read('private', 24)))
    idle.push((await holding(() => new Promise((resolve) => setTimeout(resolve, 400)))).heldMs)
  }
  figure('strips, read the first time', `${first.ms.toFixed(0)} ms`)
  figure('strips, read again every minute, median', `${median(later.map(({ ms }) => ms)).toFixed(0)} ms`)
  figure(
    '  longest block of the event loop by it, median',
    `${median(later.map(({ heldMs }) => heldMs)).toFixed(1)} ms`,
  )
  figure('  the same while idle, in 0.4 s', `${median(idle).toFixed(1)} ms`)
}

/** Duration of a task, and the longest time in which nothing else ran. */
async function holding(task: () => Promise<unknown>): Promise<{ ms: number; heldMs: number }> {
  const start = systemClock.monotonic()
  let heldMs = 0
  let last = start
  let isOver = false
  const beat = () => {
    const now = systemClock.monotonic()
    heldMs = Math.max(heldMs, now - last)
    last = now
    if (!isOver) setImmediate(beat)
  }
  beat()
  await task()
  const ms = systemClock.monotonic() - start
  isOver = true
  beat()
  return { ms, heldMs }
}

async function scriptMs(): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN) * 1000
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
