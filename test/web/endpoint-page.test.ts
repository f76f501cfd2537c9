import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import type { HistoryBucket, HistoryQuery, PollsQuery, StoredPoll } from '../../src/store/store.ts'
import { NETWORKS, OWN, type SettingOptions, setUp } from '../http/setting.ts'
import { DRAWN, findingsInAllLooks, hasChromium, type Look, openChromium } from '../support/chromium.ts'
import { incident } from '../support/incident.ts'
import { bad } from '../support/network.ts'

const PATH = '/endpoints/avalanche/own-1'
const PATIENCE = { timeout: 30_000 }

/** Of an endpoint that was always well, and fell behind once. */
const STORE = {
  async history({ from, to, stepMs }: HistoryQuery): Promise<readonly HistoryBucket[]> {
    return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => ({
      start: from + at * stepMs,
      upMs: at === 5 ? 0 : stepMs,
      degradedMs: at === 5 ? stepMs : 0,
      downMs: 0,
      maintenanceMs: 0,
      unknownMs: 0,
      polls: 20,
      latencyP50Ms: 10,
      latencyP95Ms: 20,
      latencyMaxMs: at === 5 ? 900 : 30,
      height: 1000 + at,
      lagBlocksMax: at === 5 ? 7 : 0,
      heartbeatLagMaxMs: 1500,
      contiguousFailuresMax: 0,
    }))
  },
  async polls({ from, to }: PollsQuery): Promise<readonly StoredPoll[]> {
    const measured = { latencyMs: 12.5, height: 1000, lagBlocks: 0, heartbeatLagMs: 1500, contiguousFailures: 0 }
    return Array.from({ length: Math.ceil((to - from) / 15_000) }, (_, at) => ({
      at: from + at * 15_000,
      state: 'up',
      fresh: true,
      ...measured,
      failure: null,
    }))
  },
}

describe.runIf(hasChromium)('an endpoint in Chromium', () => {
  const { blank, serve, show } = openChromium()

  async function see(look: Look = {}, over: SettingOptions = {}) {
    const setting = setUp({ realClock: systemClock, store: STORE, ...over })
    await setting.world.pollAll()
    setting.incidents.put(
      incident({ openedAt: systemClock.now() - 7_200_000, closedAt: systemClock.now() - 3_600_000 }),
    )
    return { setting, ...(await show((await serve(setting)) + PATH, look)) }
  }

  const reading = (page: Page, key: string) => page.locator(`[data-read="${key}"]`)
  const plots = (page: Page) => page.locator('[data-chart] canvas')

  test('draws four charts with one shared cursor that the keyboard moves', async () => {
    const { page, complaints } = await see()
    await plots(page).nth(3).waitFor()

    await page.locator('[data-chart="lag"]').focus()
    await page.keyboard.press('Home')
    for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowRight')

    await expect.poll(() => reading(page, 'lag').textContent(), PATIENCE).toMatch(/: 7$/)
    expect(await reading(page, 'latency').textContent()).toMatch(/: max 900 ms, p95 20 ms, p50 10 ms$/)
    expect(await reading(page, 'timeline').textContent()).toMatch(/: degraded, up to 7 blocks behind/)
    expect(await page.locator('[data-chart="lag"]').getAttribute('aria-valuenow')).toBe('6')
    expect(await page.locator('[data-chart="lag"]').getAttribute('aria-valuetext')).toMatch(/: 7$/)
    expect(complaints).toEqual([])
  })

  test('the latency chart is shaded between p50 and p95, and not above', async () => {
    const { page } = await see()
    await plots(page).nth(3).waitFor()

    const shades = await page.locator('[data-chart="latency"] .u-over').evaluate((over) => {
      const canvas = over.parentElement?.querySelector('canvas')
      const context = canvas?.getContext('2d')
      if (!canvas || !context) throw new Error('the chart has no canvas')
      const [from, box] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()]
      // Logarithmic, from 80 % of the lowest p50 to 125 % of the maximum.
      const height = (ms: number) => 1 - Math.log(ms / 8) / Math.log(1125 / 8)
      const opacities = (ms: number) =>
        [0.5, 0.52, 0.54, 0.56].map((place) => {
          const [x, y] = [box.left - from.left + box.width * place, box.top - from.top + box.height * height(ms)]
          return context.getImageData(Math.round(x * devicePixelRatio), Math.round(y * devicePixelRatio), 1, 1).data[3]
        })
      return { between: opacities(14), above: opacities(25) }
    })

    expect(shades.between.every((opacity) => Number(opacity) > 0)).toBe(true)
    // One of them may be on a line of the grid.
    expect(shades.above).toContain(0)
  })

  test('Enter zooms in, down to single polls, and the Back button zooms out', async () => {
    const { page, complaints } = await see()
    await plots(page).nth(3).waitFor()
    const before = page.url()

    await page.locator('[data-timeline]').focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.getByText('in steps of 1 min').waitFor()
    expect(new URL(page.url()).searchParams.has('from')).toBe(true)
    await page.locator('[data-timeline]').press('Enter')
    await page.getByText('one point per poll').waitFor()
    expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-timeline'))).toBe(true)
    await page.goBack()
    await page.goBack()

    await page.getByText('The last 24 hours').waitFor()
    expect(page.url()).toBe(before)
    expect(complaints).toEqual([])
  })

  test('dragging over a chart zooms in, and a range link changes the range', async () => {
    const { page } = await see()
    const over = page.locator('[data-chart="latency"] .u-over')
    await over.waitFor()
    await over.scrollIntoViewIfNeeded()
    const box = await over.boundingBox()
    if (box === null) throw new Error('the chart has no place')

    await page.mouse.move(box.x + 200, box.y + 30)
    await page.mouse.down()
    await page.mouse.move(box.x + 300, box.y + 32, { steps: 5 })
    await page.mouse.up()

    await page.waitForURL(/from=/)
    await page.getByRole('link', { name: '7 days' }).click()
    await page.waitForURL(/range=7d/)
    await page.getByText('The last 7 days').waitFor()
    await plots(page).nth(3).waitFor()
  })

  test('shows any range that is picked, in the zone of the page, and refuses one that ends before it begins or is too long', async () => {
    const { page, complaints } = await see({ timezoneId: 'Asia/Tokyo' })
    await page.getByLabel('From').fill('2026-01-02T10:00')
    await page.getByLabel('to', { exact: true }).fill('2026-01-02T09:00')
    await page.getByRole('button', { name: 'Show' }).click()
    expect(new URL(page.url()).search).toBe('')
    await page.getByLabel('From').fill('2020-01-02T10:00')
    await page.getByRole('button', { name: 'Show' }).click()
    expect(new URL(page.url()).search).toBe('')
    await page.getByLabel('From').fill('2026-01-02T10:00')

    await page.getByLabel('to', { exact: true }).fill('2026-01-02T12:00')
    await page.getByRole('button', { name: 'Show' }).click()

    await page.waitForURL(/from=/)
    const from = Date.parse('2026-01-02T01:00:00Z') / 1000
    expect(new URL(page.url()).search).toBe(`?from=${from}&to=${from + 7200}`)
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-02T10:00')
    expect(complaints).toEqual([])
  })

  test('shows the range of the last hours that is picked in a browser whose clock is three hours slow', async () => {
    const setting = setUp({ realClock: systemClock, store: STORE })
    await setting.world.pollAll()
    const page = await blank()
    await page.addInitScript(() => {
      const { now } = Date
      Date.now = () => now() - 10_800_000
    })
    await page.goto((await serve(setting)) + PATH)
    await page.locator(DRAWN).waitFor()
    const at = (minutesAgo: number) => Math.floor(systemClock.now() / 60_000 - minutesAgo) * 60
    const typed = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16)
    const [from, to] = [at(120), at(60)]
    await page.getByLabel('From').fill(typed(from))
    await page.getByLabel('to', { exact: true }).fill(typed(to))

    await page.getByRole('button', { name: 'Show' }).click()

    await page.waitForURL(`**/*?from=${from}&to=${to}`, PATIENCE)
  })

  test('has nothing that axe-core finds, light and dark, with its tables open', async () => {
    const { page } = await see()
    await plots(page).nth(3).waitFor()
    await page.evaluate(() => {
      for (const one of document.querySelectorAll('details')) one.open = true
    })

    expect(await findingsInAllLooks(page)).toEqual([])
  })

  test.each([1.211, 12.1, 121])(
    'draws a week of latencies from %f ms to 30 times that and more',
    async (least) => {
      const week = async (query: HistoryQuery) =>
        (await STORE.history(query)).map((bucket) => ({
          ...bucket,
          latencyP50Ms: least,
          latencyP95Ms: 2 * least,
          latencyMaxMs: 40 * least,
        }))
      const { page, complaints } = await see({}, { store: { ...STORE, history: week } })
      await plots(page).nth(3).waitFor()

      await page.getByRole('link', { name: /^7 days/ }).click()

      await page.getByText('The last 7 days').waitFor()
      await page.locator('[data-chart="latency"]').press('Home')
      await expect.poll(() => reading(page, 'latency').textContent(), PATIENCE).toContain('p50')
      expect(complaints).toEqual([])
    },
    60_000,
  )

  test.each([390, 1280, 2560])('fits %i px, with charts as wide as the page', async (width) => {
    const title = 'A rather long name of a node, which stands in Frankfurt'
    const networks = NETWORKS.map((of) => ({ ...of, endpoints: of.endpoints.map((one) => ({ ...one, title })) }))
    const { page } = await see({ width }, { networks })
    await plots(page).nth(3).waitFor()

    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    const [timeline, over] = await Promise.all([
      page.locator('[data-timeline]').boundingBox(),
      page.locator('[data-chart="latency"] .u-over').boundingBox(),
    ])
    // One axis of time: what is below the other was at the same moment.
    expect(Math.abs((timeline?.x ?? 0) - (over?.x ?? 99))).toBeLessThanOrEqual(1)
    expect(Math.abs((timeline?.width ?? 0) - (over?.width ?? 99))).toBeLessThanOrEqual(2)
  })

  test('has charts in their own colours, and underlines the current place, where the system forces colours', async () => {
    const { page } = await see({ colorScheme: 'light' })
    await page.emulateMedia({ forcedColors: 'active' })

    await page.reload()

    await plots(page).nth(3).waitFor()
    const colours = await plots(page)
      .first()
      .evaluate((canvas) => {
        const { width, height } = canvas as HTMLCanvasElement
        const { data } = (canvas as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height) ?? {
          data: [],
        }
        return Array.from({ length: data.length / 4 }, (_, at) => data.slice(4 * at, 4 * at + 3).join())
      })
    // The shade of degraded time; it was black, as the line that it is behind.
    expect(colours).toContain('255,247,232')
    const place = page.locator('header nav a[aria-current]')
    const line = await place.evaluate((link) => getComputedStyle(link).textDecorationLine)
    expect(line).toBe('underline')
  })

  test('without a script has a sentence and a table below every heading of a chart, and no code for badges', async () => {
    const { page } = await see({ scripts: false })

    const charts = page.locator('figure.chart:has([data-chart])')
    const headings = await charts.locator('h3').allTextContents()
    expect(headings).toEqual(expect.arrayContaining(['Latency', 'Lag', 'Height']))
    expect(await charts.locator('.still').allInnerTexts()).toEqual(
      headings.map((title) => expect.stringMatching(`^${title}: from .*The chart needs JavaScript`)),
    )
    for (const table of await charts.locator('details').all()) {
      await table.locator('summary').click()
      expect(await table.locator('tbody tr').first().isVisible()).toBe(true)
    }
    expect(await page.locator('.badges img').count()).toBe(3)
    expect(await page.locator('.badges code').count()).toBe(0)
  })

  test('shows times in the time zone of the browser, or in UTC', async () => {
    const { page } = await see({ timezoneId: 'Asia/Tokyo' })
    await plots(page).nth(3).waitFor()
    const opened = Date.parse((await page.locator('.happened time').first().getAttribute('datetime')) ?? '')
    const clockOf = (timeZone: string) =>
      new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(opened)
    const told = () => page.locator('.happened time').first().textContent()
    expect(await told()).toContain(clockOf('Asia/Tokyo'))

    await page.getByRole('button', { name: 'Times: local' }).click()

    await expect.poll(told, PATIENCE).toContain(clockOf('UTC'))
    await page.locator('[data-chart="lag"]').press('Home')
    await expect.poll(() => reading(page, 'lag').textContent(), PATIENCE).not.toBe('')
  })

  test('is not shown as healthy any more once a reload has removed the endpoint', async () => {
    const { page, setting } = await see()
    await page.locator('.subject.up').waitFor()

    setting.world.configure(
      NETWORKS.map((one) => ({ ...one, endpoints: one.endpoints.filter(({ name }) => name !== OWN.name) })),
    )

    // Long before the data of the view is loaded again in any case.
    await page.getByText('no longer configured').waitFor({ timeout: 15_000 })
  })

  test('reloads the picture of a badge when what it shows has changed', async () => {
    const { page, setting } = await see()
    const badge = page.locator('.badges img').first()
    const said = () =>
      badge.evaluate(async (image: HTMLImageElement) => {
        const svg = await (await fetch(image.currentSrc, { cache: 'force-cache' })).text()
        return svg.match(/aria-label="([^"]*)"/)?.[1]
      })
    expect(await said()).toBe('Own node 1: up')

    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(OWN, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }

    await page.locator('.subject.down').waitFor()
    await expect.poll(said, PATIENCE).toBe('Own node 1: down')
    expect(await page.locator('#embed-state-markdown').textContent()).toMatch(/own-1\.svg\)\]/)
  })

  test('a button copies the code of a badge and confirms it', async () => {
    const { page } = await see()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const button = page.getByRole('button', { name: 'Copy: State, Markdown' })

    await button.click()

    await page.getByText('Copied', { exact: true }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toBe(
      `[![Own node 1: state](${new URL('/badge/avalanche/own-1.svg', page.url()).href})](${page.url()})`,
    )
  })

  test('sends no request that would be rejected without a token', async () => {
    const { page, complaints } = await see({}, { options: { token: new Secret('a-token-of-the-operator') } })

    await page.getByText('are visible after signing in').waitFor()

    expect(complaints).toEqual([])
    expect(await page.locator('[data-chart]').count()).toBe(0)
  })

  test('loads less than 55 KB, compressed, on top of the overview', async () => {
    const { page, loaded, setting } = await see()
    await plots(page).nth(3).waitFor()
    const { body } = await setting.server.inject('/')
    const first = new Set([...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path))

    await expect.poll(() => loaded.some(({ path }) => path.includes('/charts-')), PATIENCE).toBe(true)
    const more = loaded.filter(({ path }) => path.startsWith('/assets/') && !first.has(path))

    expect(more.length).toBeGreaterThan(2)
    const files = await Promise.all(more.map(({ response }) => response.body()))
    expect(files.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThan(55_000)
  })
})
