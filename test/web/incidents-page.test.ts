import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { GatewayReport } from '../../src/gateway/service.ts'
import { Secret } from '../../src/secret.ts'
import type { HistoryBucket } from '../../src/store/store.ts'
import { type Setting, setUp } from '../http/setting.ts'
import { findingsInAllLooks, hasChromium, hide, openChromium } from '../support/chromium.ts'
import { incident } from '../support/incident.ts'
import { historyBucket } from '../support/world.ts'

const MINUTE_MS = 60_000
const GATEWAY: GatewayReport = {
  requestsInFlight: 1,
  callers: [
    {
      name: 'wallet',
      networks: ['avalanche'],
      admin: true,
      methods: ['eth_call'],
      rateLimit: null,
      requests: 7,
      rejected: 1,
    },
  ],
  networks: [
    {
      name: 'avalanche',
      endpoints: [
        { endpoint: 'own-2', tier: 'primary', excluded: null, breaker: 'closed', latencyMs: 12.5, inFlight: 2 },
        { endpoint: 'own-1', tier: 'primary', excluded: 'lagging', breaker: 'open', latencyMs: null, inFlight: 0 },
      ],
    },
  ],
  aliases: [
    {
      network: 'avalanche',
      alias: 'weekly',
      target: `C-${'a1b2c3d4'.repeat(10)}`,
      endpoint: 'own-2',
      caller: 'wallet',
      nodeId: 'NodeID-x',
      at: Date.parse('2026-01-02T03:04:05Z'),
      stale: null,
    },
  ],
}

describe.runIf(hasChromium)('incidents, the gateway and the observer in Chromium', () => {
  const { blank, serve, show } = openChromium()

  /** With an incident that is over, one that is open, and an hour of history. */
  async function start(options: { readonly token?: Secret } = {}): Promise<{ setting: Setting; address: string }> {
    const setting = setUp({ realClock: systemClock, gateway: () => GATEWAY, options, store: { history } })
    await setting.world.pollAll()
    const now = systemClock.now()
    setting.incidents.put(
      incident({ id: 'over', endpoint: 'own-2', openedAt: now - 20 * MINUTE_MS, closedAt: now - 18 * MINUTE_MS }),
    )
    setting.incidents.put(
      incident({
        id: 'whole',
        endpoint: null,
        cause: 'halted',
        state: 'degraded',
        openedAt: now - 2 * MINUTE_MS,
        affected: ['own-1', 'own-2'],
      }),
    )
    return { setting, address: await serve(setting) }
  }

  test('no time touches a duration, also if an incident lasted whole minutes', async () => {
    const { address } = await start()
    const touching = /\d:\d\d(?::\d\d)?\d* ?(?<!\s)\d+\s(?:ms|s|min|h|d)\b/
    expect('01:48–02:2133 min 36 s').toMatch(touching)

    for (const path of ['/incidents', '/incidents/over', '/incidents/whole', '/endpoints/avalanche/own-2']) {
      const { page } = await show(`${address}${path}`)
      await page.locator('h1').waitFor()
      expect(await page.locator('main').innerText()).not.toMatch(touching)
      expect(await page.locator('main').textContent()).not.toMatch(touching)
    }
  })

  test.each([
    ['/incidents?cursor=x', 'Not found'],
    ['/incidents?network=ABC', 'Incidents'],
    ['/incidents?endpoint=ABC', 'Incidents'],
  ])('%s looks the same before and after the scripts have loaded', async (path, heading) => {
    const { address } = await start()
    const seen: (string | undefined)[] = []
    for (const scripts of [false, true]) {
      const { page } = await show(`${address}${path}`, { scripts })
      seen.push(await page.locator('h1').innerText(), await page.locator('.no-match').allInnerTexts().then(String))
    }

    const [first, list, ...later] = seen
    expect([first, list !== '']).toEqual([heading, heading === 'Incidents'])
    expect(later).toEqual([first, list])
  })

  test('an incident has one sentence and one length on all views', async () => {
    const { address } = await start()
    const told: string[] = []
    for (const [path, selector] of [
      ['/incidents', '.incident:has(a[href="/incidents/over"])'],
      ['/endpoints/avalanche/own-2', '.happened li:has(a[href="/incidents/over"])'],
      ['/incidents/over', '.subject'],
    ] as const) {
      const { page } = await show(`${address}${path}`)
      const text = (await page.locator(selector).innerText()).replace(/\s+/g, ' ')
      told.push(`${/was .*?refused/.exec(text)?.[0]}, ${/\b\d+ min\b.*?(?=\.|$)/.exec(text)?.[0]}`)
    }

    expect(new Set(told)).toEqual(new Set(['was down: connection refused, 2 min']))
  })

  test('on a phone every cell of the gateway tables is in view, with the name of its column', async () => {
    const { address } = await start()
    const { page } = await show(`${address}/gateway`, { width: 390, height: 844 })

    const cells = await page.locator('td[data-label]').evaluateAll((all) =>
      all.map((cell) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        const { left, right } = range.getBoundingClientRect()
        const label = getComputedStyle(cell, '::before').content
        return { label: label.slice(1, -1), isInView: left >= 0 && right <= document.documentElement.clientWidth }
      }),
    )

    expect(cells.filter(({ isInView }) => !isInView)).toEqual([])
    expect(cells.every(({ label }) => label.length > 3)).toBe(true)
    expect(cells.length).toBeGreaterThan(20)
    expect(await page.getByRole('rowheader', { name: 'wallet' }).count()).toBe(1)
    expect(await page.getByRole('columnheader', { name: 'Requests' }).count()).toBeGreaterThan(0)
  })

  test('on a phone the filters begin where the incidents do', async () => {
    const { address } = await start()
    const { page } = await show(`${address}/incidents`, { width: 390, height: 844 })

    const left = async (selector: string) => (await page.locator(selector).first().boundingBox())?.x

    expect(await left('.sieve .choice')).toBe(await left('.day'))
  })

  test('the list shows an incident as it opens, and links to its page without a reload', async () => {
    const { setting, address } = await start()
    const { page, complaints } = await show(`${address}/incidents?open=true`)
    await page.getByText('Avalanche is halted').waitFor()
    await page.evaluate(() => Object.assign(window, { isSame: true }))

    setting.incidents.put(incident({ id: 'new', openedAt: systemClock.now() - 1000 }))
    await page.getByRole('link', { name: 'Avalanche: Own node 1' }).click()

    await page.locator('h1', { hasText: 'Avalanche: Own node 1 is down: connection refused' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/incidents/new')
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    expect(complaints).toEqual([])
  })

  test.each([
    ['/incidents/whole', '.subject .over'],
    ['/incidents', '.incident.over a[href="/incidents/whole"]'],
  ])('an incident is over on %s as soon as it is closed, not only when the view loads again', async (path, over) => {
    const { setting, address } = await start()
    const page = await blank()
    await page.addInitScript(() => Object.assign(window, { setInterval: () => 0 }))
    await page.goto(address + path)
    await page.locator('.lamp.on').waitFor()
    const open = setting.incidents.open().find(({ id }) => id === 'whole')
    if (open === undefined) throw new Error('it is not open')

    setting.incidents.put({ ...open, closedAt: systemClock.now() })

    await page.locator(over).first().waitFor({ timeout: 30_000 })
  })

  test('the list that is shown again loads at once what was due while it was hidden', async () => {
    const { address } = await start()
    const page = await blank({ alone: true })
    await page.clock.install()
    await page.goto(`${address}/incidents`)
    await page.locator('.lamp.on').waitFor()
    await hide(page, true)
    await page.clock.pauseAt(Date.now() + 5500)
    await hide(page, false)
    const again = page.waitForResponse('**/api/v1/incidents')

    await page.clock.runFor(2000)

    await again
  })

  test('the keyboard moves through charts step by step; the post-mortem is copied, or selected where there is no clipboard', async () => {
    const { address } = await start()
    const { page, complaints } = await show(`${address}/incidents/over`)
    const value = (name: string) => page.evaluate((of) => document.activeElement?.getAttribute(of), name)

    await page.locator('[role=slider]').focus()
    // What reads them is loaded at the first touch.
    await expect
      .poll(
        async () => {
          await page.keyboard.press('Home')
          return value('aria-valuenow')
        },
        { timeout: 20_000 },
      )
      .toBe('1')
    await page.keyboard.press('ArrowRight')

    expect(await value('aria-valuenow')).toBe('2')
    expect(await value('aria-valuetext')).toMatch(
      /^\d\d:\d\d(:\d\d)?: State up, Lag 0 blocks, Height 1,000, Latency p95 20 ms$/,
    )
    const copy = page.getByRole('button', { name: 'Copy' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await copy.click()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(copied, { timeout: 20_000 }).toContain('Began')
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await copy.click()
    await page.waitForFunction(() => getSelection()?.toString().includes('Began'))
    expect(complaints).toEqual([])
  })

  test.each(['/', '/networks/avalanche', '/endpoints/avalanche/own-1', '/incidents', '/incidents/over', '/gateway'])(
    '%s is printed without anything to click or to fill in',
    async (path) => {
      const { address } = await start()
      const { page } = await show(`${address}${path}`)

      await page.emulateMedia({ media: 'print' })

      for (const one of ['button', 'input', 'select', 'textarea', 'summary', 'nav'])
        expect([one, await page.locator(`${one}:visible`).allInnerTexts()]).toEqual([one, []])
      expect(await page.locator('h1').isVisible()).toBe(true)
    },
  )

  test('its post-mortem is in the chosen zone, the text file in UTC', async () => {
    const { address } = await start()
    const { page, complaints } = await show(`${address}/incidents/over`, { timezoneId: 'Asia/Tokyo' })
    const text = page.locator('#post-mortem')

    await page.getByText('Show the text').click()
    await text.getByText('all times are Asia/Tokyo').waitFor()
    await page.getByRole('link', { name: 'Open as text' }).click()

    await page.getByText('all times are UTC').waitFor()
    expect(complaints).toEqual([])
  })

  test('a post-mortem is printed where its reader opened it', async () => {
    const { address } = await start()
    const { page } = await show(`${address}/incidents/over`)
    const text = page.locator('#post-mortem')

    await page.emulateMedia({ media: 'print' })
    expect(await page.getByRole('heading', { name: 'Post-mortem' }).isVisible()).toBe(false)
    await page.emulateMedia({ media: 'screen' })
    await page.getByText('Show the text').click()
    await page.emulateMedia({ media: 'print' })

    expect(await text.isVisible()).toBe(true)
    expect(await page.getByText('Show the text').isVisible()).toBe(false)
  })

  test('the list is filtered by time and condition, and its filters are without findings of axe when open', async () => {
    const { address } = await start()
    const { page, complaints } = await show(`${address}/incidents`)
    const menu = (name: string) => page.locator('summary', { hasText: `${name}:` })

    await menu('Condition').click()
    expect(await findingsInAllLooks(page)).toEqual([])
    await page.getByRole('link', { name: 'unreachable', exact: true }).click()
    await page.waitForURL('**/incidents?condition=unreachable')
    await menu('Time').click()
    expect(await findingsInAllLooks(page)).toEqual([])
    await page.locator('[name=from]').fill('2026-01-05T00:00')
    await page.locator('[name=to]').fill('2026-01-06T00:00')
    await page.getByRole('button', { name: 'Show' }).click()

    await page.waitForURL('**/incidents?condition=unreachable&from=1767571200&to=1767657600')
    await page.getByText('No matching incidents.').waitFor()
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await page.locator('.incident').nth(1).waitFor()
    expect(complaints).toEqual([])
  })

  test('all pages are readable without a script', async () => {
    const { address } = await start()

    for (const [path, text] of [
      ['/incidents', 'was down: connection refused'],
      ['/incidents/over', 'Timeline'],
      ['/gateway', '1st'],
      ['/observer', 'Rows written'],
    ] as const) {
      const { page, complaints } = await show(`${address}${path}`, { scripts: false })
      await page.getByText(text).first().waitFor()
      expect(complaints).toEqual([])
    }
  })

  test('the public sees times and causes, but no figures', async () => {
    const { address } = await start({ token: new Secret('a-token-of-the-operator') })

    const { page } = await show(`${address}/incidents/over`)
    expect(await page.getByText('Sign in to see heights, lag and latency.').count()).toBe(1)
    expect(await page.locator('.small-charts').count()).toBe(0)
    await page.getByRole('link', { name: 'Observer' }).click()
    await page.getByText('Sign in to see figures.').waitFor()
    expect(await page.locator('.figures').count()).toBe(0)
  })
})

async function history({ from, to, stepMs }: { from: number; to: number; stepMs: number }): Promise<HistoryBucket[]> {
  return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) =>
    historyBucket({ start: from + at * stepMs, upMs: stepMs }),
  )
}
