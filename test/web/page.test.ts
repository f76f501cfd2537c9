import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../src/clock.ts'
import { ownState } from '../../src/daemon/own-health.ts'
import { Secret } from '../../src/secret.ts'
import type { HistoryBucket } from '../../src/store/store.ts'
import { NODE, OTHER, OWN, type Setting, setUp } from '../http/setting.ts'
import {
  DRAWN,
  excessWidth,
  findingsInAllLooks,
  hasChromium,
  type Look,
  openChromium,
  type Seen,
} from '../support/chromium.ts'
import { condition, incident } from '../support/incident.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck } from '../support/network.ts'
import { aClusterReport, aPlace, DISAGREEING, PARTIAL, putPlaces } from '../support/places.ts'
import { QUIET_STORE } from '../support/world.ts'

/** Holds requests of these addresses back until they are let go. */
async function hold(page: Page, glob: string): Promise<{ readonly asked: Promise<void>; readonly letGo: () => void }> {
  let letGo = () => {}
  let ask = () => {}
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const asked = new Promise<void>((resolve) => (ask = resolve))
  await page.route(glob, async (route) => {
    ask()
    await held
    await route.continue()
  })
  return { asked, letGo }
}

/** Networks of so many endpoints each. */
function fleet(networks: number, endpoints: number) {
  return Array.from({ length: networks }, (_, at) => ({
    network: network({ name: `net-${at}`, title: `Network ${at}` }),
    endpoints: Array.from({ length: endpoints }, (_, place) =>
      endpoint(`helsinki-${place}`, { network: `net-${at}`, title: `Helsinki archive ${place}` }),
    ),
  }))
}

/** The clock of a browser that is an hour fast. */
const FAST = () => {
  const { now } = Date
  Date.now = () => now() + 3_600_000
}

describe.runIf(hasChromium)('the page in Chromium', () => {
  const { blank, serve, show: showAt } = openChromium()

  async function show(
    setting: Setting,
    { path = '/', ...look }: Look & { readonly path?: string } = {},
  ): Promise<Seen> {
    const until = look.scripts === false ? 'h1' : `${DRAWN}, .lamp.off`
    return showAt((await serve(setting)) + path, { height: 720, until, ...look })
  }

  test('shows live that an endpoint goes down and why, without browser errors', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)
    await page.getByText('All 3 endpoints are up.').waitFor()
    const refused = bad({ kind: 'refused' })

    for (let poll = 0; poll < 2; poll++) await setting.world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })

    await page.getByText('1 of 3 endpoints is down: node (Ethereum), connection refused.').waitFor()
    const row = page.locator('tr.down')
    expect(await row.locator('.code').textContent()).toBe('unreachable')
    expect(await row.getByRole('img', { name: 'Down' }).count()).toBe(1)
    expect(await page.title()).toBe('▲ Heartline')
    expect(await page.locator('section.network h2').allTextContents()).toEqual(['Ethereum', 'Avalanche'])
    expect(complaints).toEqual([])
  })

  test('shows open incidents live until they are closed', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)
    await page.getByText('All 3 endpoints are up.').waitFor()
    expect(await page.locator('.incidents').count()).toBe(0)
    const open = incident({ openedAt: systemClock.now() - 120_000 })

    setting.incidents.put(open)

    await page.locator('.incidents li').waitFor()
    expect(await page.locator('.incidents li').innerText()).toMatch(
      /^Avalanche: Own node 1 is down: connection refused\. Not the chain: the other one is at head\.\s+for 2 min$/,
    )
    expect(await page.locator('.incidents').getByRole('img', { name: 'Down' }).count()).toBe(1)
    setting.incidents.put({ ...open, closedAt: systemClock.now() })
    await page.locator('.incidents').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('announces maintenance, and marks running maintenance with its own shape', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const now = systemClock.now()
    const period = { network: 'avalanche', endpoints: ['own-1'] }
    const { page } = await show(setting)
    await page.getByText('All 3 endpoints are up.').waitFor()

    setting.world.board.putMaintenance([
      { ...period, name: 'upgrade', from: now - 1000, until: now + 1_800_000 },
      { ...period, name: 'later', endpoints: null, from: now + 7_260_000, until: now + 9_000_000 },
    ])

    await page.getByText('2 of 3 endpoints are up; 1 is in maintenance.').waitFor()
    await page.locator('.events.maintenance li').nth(1).waitFor()
    const items = await page.locator('.events.maintenance li').allInnerTexts()
    expect(items.map((text) => text.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^Avalanche: Own node 1 upgrade (29|30) min left, until (\d+ \w+ \d+, )?\d\d:\d\d$/),
      expect.stringMatching(/^Avalanche later in 2 h, .+ to .*\d\d:\d\d$/),
    ])
    const times = page.locator('.events.maintenance time')
    expect(await times.allTextContents()).toEqual([expect.stringMatching(/^(29|30) min$/), '2 h'])
    for (const path of ['/networks/avalanche', '/endpoints/avalanche/own-1', '/endpoints/avalanche/own-2']) {
      await page.goto(new URL(path, page.url()).href)
      await page.locator('.lamp.on').waitFor()
      expect(await page.locator('.events.maintenance li').count(), path).toBe(path.endsWith('own-2') ? 1 : 2)
    }
    await page.goto(new URL('/', page.url()).href)
    await page.locator('.lamp.on').waitFor()
    const row = page.locator('tr.maintenance')
    expect(await row.getByRole('img', { name: 'Maintenance' }).count()).toBe(1)
    expect(await row.evaluate((one) => getComputedStyle(one).backgroundColor)).not.toBe('rgba(0, 0, 0, 0)')
  })

  test('says live on every view that it shows only what one member sees, until the database is back', async () => {
    let cluster = aClusterReport()
    const setting = setUp({ realClock: systemClock, cluster: () => cluster })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting, { path: '/incidents' })
    expect(await page.locator('.announcement').count()).toBe(0)

    cluster = aClusterReport({ store: { reachable: false, since: systemClock.now(), spoolRows: 0, lagMs: null } })
    await page.getByText('This page shows only what fra1 sees.').waitFor()
    cluster = aClusterReport()
    await page.locator('.announcement').waitFor({ state: 'detached' })

    expect(complaints).toEqual([])
  })

  test('shows live what each place sees of an endpoint', async () => {
    const setting = setUp({ realClock: systemClock, cluster: () => aClusterReport() })
    await setting.world.pollAll()
    const places = ['fra1', 'nyc1', 'sin1'].map((vantage) => aPlace(vantage, { since: systemClock.now() }))
    putPlaces(setting.world.board, NODE, places, 3)
    const { page, complaints } = await show(setting, { path: '/endpoints/ethereum/node' })
    await page.getByText('3 of 3 stand behind the state').waitFor()
    const { board } = setting.world
    const health = board.entry('ethereum', 'node')?.health
    if (health === undefined) throw new Error('no health')

    putPlaces(board, NODE, DISAGREEING, 1)
    board.put({ ...health, verdict: 'degraded', conditions: [{ ...PARTIAL, since: systemClock.now() }] }, true)

    await page.locator('.vantages tr.down').waitFor()
    expect(await page.locator('.vantages tr.down').innerText()).toMatch(/^fra1\s+Down connection refused/)
    await page.getByRole('link', { name: 'Overview' }).first().click()
    await page
      .getByText(
        '1 of 3 endpoints is degraded: node (Ethereum), down from fra1 only: connection refused; up from nyc1, sin1.',
      )
      .waitFor()
    expect(complaints).toEqual([])
  })

  test('is readable without a script: verdict, endpoints, links and the time of the data', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()

    const { page, complaints } = await show(setting, { scripts: false })

    expect(await page.locator('h1').innerText()).toBe('All 3 endpoints are up.')
    expect(await page.locator('.lamp').innerText()).toMatch(/^As of .* UTC$/)
    expect(await page.locator('.tools').isVisible()).toBe(false)
    await page.getByRole('link', { name: 'Own node 1' }).click()
    expect(await page.locator('h1').innerText()).toBe('Own node 1')
    expect(complaints).toEqual([])
  })

  test('replaces what the daemon drew without losing focus, scroll position or typed text', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank({ height: 300 })
    const { letGo } = await hold(page, '**/api/v1/events')
    await page.goto(address)
    await page.locator('.lamp.wait').waitFor()
    await page.locator('#search').fill('node')
    await page.getByRole('link', { name: 'Own node 2' }).focus()
    await page.evaluate(() => scrollTo(0, 120))

    letGo()

    await page.locator('.lamp.on').waitFor()
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Own node 2')
    expect(await page.evaluate(() => Math.round(scrollY))).toBe(120)
    expect(await page.locator('#search').inputValue()).toBe('node')
  })

  test('keeps the focus on an open incident when its own code draws it', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    setting.incidents.put(incident({ openedAt: systemClock.now() - 60_000 }))
    const address = await serve(setting)
    const page = await blank()
    const { letGo } = await hold(page, '**/events-*.js')
    await page.goto(address)
    await page.locator('.lamp.on').waitFor()
    await page.locator('.incidents[data-kept] a').first().focus()

    letGo()

    await page.locator('.incidents:not([data-kept])').waitFor()
    expect(await page.locator('[data-kept]').count()).toBe(0)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toMatch(/^\/incidents\//)
  })

  test('keeps strips as the daemon drew them, and the focus on one, until their own code draws them', async () => {
    const setting = setUp({ realClock: systemClock, store: { history: async (of) => [aBucket(of.from, of.stepMs)] } })
    await setting.world.pollAll()
    const page = await blank()
    const { letGo } = await hold(page, '**/strip-*.js')
    const address = await serve(setting)
    // The history is read once somebody asks.
    await expect.poll(async () => (await fetch(address)).text()).toContain('data-strip')
    await page.goto(address)
    await page.locator('.lamp.on').waitFor()
    const strips = page.locator('td.day .strip:has(svg)')
    expect(await strips.count()).toBe(3)
    expect(await page.locator('[data-kept]').count()).toBe(3)
    await strips.nth(1).focus()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-strip'))
    expect(await focused()).toBe('avalanche/own-2')

    letGo()

    await page.locator('[data-kept]').first().waitFor({ state: 'detached' })
    expect(await strips.count()).toBe(3)
    expect(await focused()).toBe('avalanche/own-2')
  })

  test('draws the wall only with its style sheet, also coming from another view', async () => {
    const setting = setUp({ realClock: systemClock, networks: fleet(1, 41) })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/incidents' })
    const { asked, letGo } = await hold(page, '**/views/wall.css')

    await page.getByRole('link', { name: 'Overview' }).click()
    await asked
    await page.waitForTimeout(200)
    expect(await page.locator('h1').innerText()).toBe('Incidents')
    letGo()

    await page.locator('.tile').nth(40).waitFor()
    expect(await page.locator('.wall').evaluate((wall) => getComputedStyle(wall).display)).toBe('grid')
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('All 41 endpoints are up.')
  })

  test('changes views and goes back without a reload, with title, address and focus', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)
    await page.evaluate(() => Object.assign(window, { isSame: true }))

    await page.getByRole('link', { name: 'Avalanche', exact: true }).click()
    await page.locator('h1', { hasText: 'Avalanche' }).waitFor()

    expect(new URL(page.url()).pathname).toBe('/networks/avalanche')
    expect(await page.title()).toBe('Avalanche · Heartline')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')
    await page.goBack()
    await page.locator('h1', { hasText: 'All 3 endpoints are up.' }).waitFor()
    await page.goForward()
    await page.locator('h1', { hasText: 'Avalanche' }).waitFor()
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    expect(complaints).toEqual([])
  })

  test('works with the keyboard: a strip is one tab stop, arrows move, Home and End jump', async () => {
    const history = async ({ from, to, stepMs }: { from: number; to: number; stepMs: number }) =>
      Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => aBucket(from + at * stepMs, stepMs))
    const setting = setUp({ realClock: systemClock, store: { history } })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)
    const strip = page.locator('[role=slider]').first()
    await strip.waitFor()

    await page.locator('tbody a').first().focus()
    await page.keyboard.press('Tab')
    await page.locator('.tipbox').waitFor()
    const at = () => page.evaluate(() => Number(document.activeElement?.getAttribute('aria-valuenow')))
    expect(await at()).toBe(96)
    await page.keyboard.press('ArrowLeft')
    expect(await at()).toBe(95)
    await page.keyboard.press('Home')
    expect(await at()).toBe(1)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-valuetext'))).toMatch(
      /^\d\d:\d\d to \d\d:\d\d: up, p95 20 ms$/,
    )
    await page.keyboard.press('End')
    expect(await at()).toBe(96)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Own node 2')
    await page.keyboard.press('/')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('search')
    await strip.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/endpoints\/avalanche\/own-1\?from=\d+&to=\d+$/)
    const { searchParams } = new URL(page.url())
    expect(Number(searchParams.get('to')) - Number(searchParams.get('from'))).toBe(900)
    expect(complaints).toEqual([])
  })

  test('searches, filters and collapses, and remembers collapsed networks, theme and density', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)

    await page.locator('#search').fill('node 2')
    await page.getByText('1 of 3 endpoints').waitFor()
    await page.locator('#search').fill('')
    await page.locator('#filter').selectOption('troubled')
    await page.getByText('No matching endpoints.').waitFor()
    expect(await page.locator('section.network').count()).toBe(0)
    await page.locator('#filter').selectOption('')
    await page.getByRole('button', { name: 'Collapse Avalanche' }).click()
    await page.getByText('2 endpoints hidden').waitFor()
    await page.getByRole('button', { name: 'Theme' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.getByRole('button', { name: 'Density: comfortable' }).click()
    await page.getByRole('button', { name: 'Density: compact' }).waitFor()
    await page.reload()

    await page.getByText('2 endpoints hidden').waitFor()
    expect(await page.locator('html').getAttribute('class')).toBe('js dark dense')
    expect(complaints).toEqual([])
  })

  test('redraws only the changed one of three hundred endpoints', async () => {
    const endpoints = Array.from({ length: 300 }, (_, at) => endpoint(`node-${at}`, { intervalMs: 600_000 }))
    const setting = setUp({ realClock: systemClock, networks: [{ network: network(), endpoints }] })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/?view=list' })
    await page.getByText('All 300 endpoints are up.').waitFor()
    await page.evaluate(() => {
      const touched = new Set<string>()
      Object.assign(window, { touched })
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const element = target instanceof Element ? target : target.parentElement
          const row = element?.closest('tr')
          if (row) touched.add(row.id)
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
    })

    const changed = endpoints[7] as (typeof endpoints)[number]
    await setting.world.poll(changed, { heads: [{ shard: null, outcome: good(head(1001, systemClock.now())) }] })

    await page.getByText('1,001').first().waitFor()
    const touched = await page.evaluate(() => [...(window as unknown as { touched: Set<string> }).touched])
    expect(touched).toEqual(['e-ethereum-node-7'])
  })

  test('shows names and states to the public, and everything from sign-in to sign-out', async () => {
    const setting = setUp({ realClock: systemClock, options: { token: new Secret('a-token-of-the-operator') } })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.getByText('All 3 endpoints are up.').waitFor()
    expect(await page.getByText('1,000').count()).toBe(0)

    await page.goto(new URL('/networks/avalanche?from=1&to=%2F2', page.url()).href)
    await page.locator('h1', { hasText: 'Avalanche' }).waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    // The link on the page of signing in leads to the same address.
    await page.getByRole('navigation').getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Wrong token.').waitFor()
    await page.getByLabel('Token').fill('a-token-of-the-operator')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Block arrival' }).waitFor()
    expect(page.url()).toMatch(/\/networks\/avalanche\?from=1&to=%2F2$/)
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click()
    await page.getByText('1,000').first().waitFor()
    expect(page.url()).not.toContain('token')
    await page.reload()
    await page.getByText('1,000').first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await page.locator('.lamp.on').waitFor()
    expect(await page.getByText('1,000').count()).toBe(0)
  })

  test('shows the public 90 days of every endpoint, and the incidents of a day on focus', async () => {
    const history = async ({ from, to, stepMs }: { from: number; to: number; stepMs: number }) =>
      Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => aBucket(from + at * stepMs, stepMs))
    const options = { token: new Secret('a-token-of-the-operator') }
    const setting = setUp({ realClock: systemClock, options, store: { history } })
    await setting.world.pollAll()
    const yesterday = systemClock.now() - 86_400_000
    const conditions = [condition({ since: yesterday })]
    setting.incidents.put(incident({ openedAt: yesterday, closedAt: yesterday + 120_000, conditions }))
    const { page, complaints } = await show(setting)

    await page.getByRole('columnheader', { name: 'Last 90 days' }).first().waitFor()
    const bars = page.locator('[data-days="avalanche/own-1"]')
    await bars.focus()
    await page.locator('.tipbox').waitFor()
    await page.keyboard.press('ArrowLeft')

    await expect.poll(() => page.locator('.tipbox').textContent()).toMatch(/: up\. 1 incident: down for 2 min$/)
    expect(await bars.getAttribute('aria-valuetext')).toContain('1 incident')
    expect(await findingsInAllLooks(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  test.each(['/', '/nothing'])('that is not public opens with the token at %s', async (path) => {
    const options = { token: new Secret('a-token-of-the-operator'), public: false }
    const setting = setUp({ realClock: systemClock, options })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.goto(address + path)

    await page.getByLabel('Token').fill('a-token-of-the-operator')
    await page.keyboard.press('Enter')

    await page.getByText('All 3 endpoints are up.').waitFor()
    await page.locator('.lamp.on').waitFor()
  })

  test('that is not public leads readers with the token to nothing that needs it', async () => {
    const token = 'a-token-of-the-operator'
    const setting = setUp({ realClock: systemClock, options: { token: new Secret(token), public: false } })
    await setting.world.pollAll()
    const affected = Array.from({ length: 101 }, (_, at) => `node-${at}`)
    setting.incidents.put(incident({ id: 'outage', cause: 'outage', endpoint: null, affected }))
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript((held) => sessionStorage.setItem('heartline-token', held), token)
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() === 401 && !response.request().isNavigationRequest()) refused.push(response.url())
    })

    for (const path of ['/networks/avalanche', '/endpoints/avalanche/own-1', '/incidents/outage']) {
      await page.goto(address + path)
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.locator(DRAWN).waitFor()
      const targets = await page.evaluate(() =>
        [...document.querySelectorAll('a[href], img[src], link[href]')].map(
          (one) => one.getAttribute('href') ?? one.getAttribute('src') ?? '',
        ),
      )
      const leading = targets.filter((to) => /^\/(api|badge|embed|feed|metrics|openapi)/.test(to))
      expect([path, leading, await page.locator('.badges').count()]).toEqual([path, [], 0])
    }
    await page.keyboard.press('Control+k')
    await page.locator('.palette [role=option]').first().waitFor()
    await page.keyboard.type('storedeg')
    await page.locator('.palette [role=option]', { hasText: 'HeartlineStoreDegraded' }).waitFor()

    expect(refused).toEqual([])
  })

  test('holds one event stream, also after signing in twice at once', async () => {
    const token = 'a-token-of-the-operator'
    const setting = setUp({ realClock: systemClock, options: { token: new Secret(token) } })
    await setting.world.pollAll()
    const page = await blank()
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'locks', { value: undefined })
      const digest = crypto.subtle.digest.bind(crypto.subtle)
      crypto.subtle.digest = async (...of) => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        return digest(...of)
      }
    })
    const address = await serve(setting)
    await page.goto(`${address}/sign-in`)
    await page.locator('.lamp.on').waitFor()
    let opened = 0
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/v1/events') opened++
    })

    await page.locator('input[name=token]').fill(token)
    await page.locator('form[data-act=token]').evaluate((form: HTMLFormElement) => {
      form.requestSubmit()
      form.requestSubmit()
    })

    await page.getByText('Sign out').waitFor()
    await page.locator('.lamp.on').waitFor()
    // A page that asks again after both sign-ins has opened every stream that they lead to.
    await page.goto(`${address}/observer`)
    await page.locator('.lamp.on').waitFor()
    expect(opened).toBe(2)
  })

  test('is marked stale, and looks healthy nowhere, when the daemon is gone', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.locator('.lamp.on').waitFor()
    await page.evaluate(() => {
      const ages: number[] = []
      Object.assign(window, { ages })
      setInterval(() => ages.push(Number.parseInt(document.querySelector('.tips time')?.textContent ?? '', 10)), 50)
    })

    await setting.server.close()

    await page.locator('.lamp.off').waitFor({ timeout: 30_000 })
    await page.getByText(/^Stale for [3-9]/).waitFor()
    const told = await page.evaluate(() => (window as unknown as { ages: number[] }).ages)
    expect(told.length).toBeGreaterThan(20)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    expect(await page.locator('.lamp').textContent()).toMatch(/^Stale for /)
    expect(await page.locator('.verdict').getAttribute('class')).toContain('unknown')
    expect(await page.locator('h1').textContent()).toContain('Cannot reach Heartline')
    expect(await page.locator('main.stale').count()).toBe(1)
    expect(await page.title()).toBe('? Heartline')
    const ages = await page.locator('tbody time').allTextContents()
    expect(ages.map((age) => Number.parseInt(age, 10)).filter((seconds) => !(seconds < 9))).toEqual([])
  })

  test.each(['/', '/incidents', '/endpoints/avalanche/own-1', '/networks/avalanche', '/observer'])(
    'hatches the cards of %s when the daemon is gone, and nothing beyond them',
    async (path) => {
      const setting = setUp({ realClock: systemClock })
      await setting.world.pollAll()
      setting.incidents.put(incident({ openedAt: systemClock.now() - 90_000 }))
      const { page } = await show(setting, { path })

      await setting.server.close()

      await page.locator('main.stale').waitFor({ timeout: 30_000 })
      const hatched = await page.evaluate(() =>
        [...document.querySelectorAll('main *')].flatMap((element) => {
          const { backgroundImage, borderRightWidth, borderTopWidth, borderLeftWidth } = getComputedStyle(element)
          if (!backgroundImage.endsWith('10px)')) return []
          const hasEdge = [borderRightWidth, borderTopWidth, borderLeftWidth].some((width) => width !== '0px')
          return [hasEdge ? 'a card' : element.outerHTML.slice(0, 60)]
        }),
      )
      expect([...new Set(hatched)]).toEqual(['a card'])
    },
  )

  test('stays on its view without the daemon, says so, and continues by itself', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/networks/avalanche' })
    await page.locator('.lamp.on').waitFor()
    const { port, pathname } = new URL(page.url())

    await setting.server.close()
    await page.getByRole('link', { name: 'Observer' }).click()

    await page.locator('.lamp.off').waitFor({ timeout: 30_000 })
    expect(new URL(page.url()).pathname).toBe(pathname)
    expect(await page.getByRole('alert').textContent()).toContain('Cannot reach Heartline')
    expect(await page.locator('.subject').evaluate((one) => getComputedStyle(one).filter)).toBe('grayscale(1)')
    expect(await page.title()).toBe('? Avalanche · Heartline')
    const back = setUp({ realClock: systemClock, options: { port: Number(port) } })
    await back.world.pollAll()
    await serve(back)
    await page.waitForURL('**/observer', { timeout: 30_000 })
    await page.locator('.lamp.on').waitFor()
    expect(await page.locator('.lost').count()).toBe(0)
  }, 120_000)

  test('says from when it is if it cannot be loaded again, though events come, until it can', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/observer' })
    await page.locator('.lamp.on').waitFor()

    await page.route('**/api/v1/observer', (route) => route.fulfill({ status: 503 }))

    const note = page.getByText(/^Some of this page cannot be read at the moment. It is from \d/)
    await note.waitFor({ timeout: 40_000 })
    expect(await page.locator('.lamp.on').count()).toBe(1)
    await page.unroute('**/api/v1/observer')
    await note.waitFor({ state: 'detached', timeout: 20_000 })
  }, 120_000)

  test.each(['/gateway', '/notifications'])('shows at %s an example that can be copied as it is', async (path) => {
    const { page } = await show(setUp({ realClock: systemClock }), { path, width: 320 })

    const example = parse((await page.locator('.off pre').textContent()) ?? '') as object

    expect(Object.keys(example)).toEqual([path === '/gateway' ? 'gateway' : 'notify'])
    expect(await excessWidth(page)).toEqual([])
  })

  test('reloads when the daemon comes back with other files', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.locator('.lamp.on').waitFor()
    const { port } = new URL(page.url())
    await page.evaluate(() => document.body.setAttribute('data-old', ''))
    await page.route('**/assets/**', (route) =>
      route.request().method() === 'HEAD' ? route.fulfill({ status: 404 }) : route.continue(),
    )

    await setting.server.close()
    const back = setUp({ realClock: systemClock, options: { port: Number(port) } })
    await back.world.pollAll()
    await serve(back)

    await page.locator('body:not([data-old]) .lamp.on').waitFor({ timeout: 60_000 })
  }, 120_000)

  test.each([
    ['without a token', {}],
    ['that was public', { token: new Secret('a-token-of-the-operator') }],
  ])(
    'of a daemon %s shows nothing more when it comes back closed, and asks for the token',
    async (_was, options) => {
      const setting = setUp({ realClock: systemClock, options })
      await setting.world.pollAll()
      const { page } = await show(setting)
      await page.getByText('Own node 1').waitFor()
      const { port } = new URL(page.url())

      await setting.server.close()
      const closed = { port: Number(port), token: new Secret('a-token-of-the-operator'), public: false }
      const back = setUp({ realClock: systemClock, options: closed })
      await back.world.pollAll()
      await serve(back)

      await page.getByLabel('Token').waitFor()
      expect(await page.getByText('Own node 1').count()).toBe(0)
    },
    120_000,
  )

  test('is stale at once when the computer wakes up without the daemon', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.locator('.lamp.on').waitFor()
    await setting.server.close()

    // What counts up stands still while it sleeps, the time of day does not.
    await page.evaluate(() => {
      const { now } = Date
      Date.now = () => now() + 3_600_000
    })

    await page.getByText('Stale for 1 h').waitFor({ timeout: 30_000 })
    expect(await page.title()).toBe('? Heartline')
  }, 120_000)

  test('loads its history again when the computer wakes up', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    const again = page.waitForRequest('**/api/v1/strips', { timeout: 30_000 })

    // What counts up stands still while it sleeps, the time of day does not.
    await page.evaluate(() => {
      const { now } = Date
      Date.now = () => now() + 3_600_000
    })

    await again
  }, 120_000)

  test('looks healthy nowhere if it never reaches the daemon that drew it', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.route('**/api/**', (route) => route.abort())
    await page.goto(address)

    await page.locator('.lamp.off').waitFor({ timeout: 30_000 })

    expect(await page.locator('.lamp').textContent()).toMatch(/^Stale for /)
    expect(await page.locator('h1').textContent()).toContain('Cannot reach Heartline')
    expect(await page.locator('.verdict .mark').count()).toBe(0)
    expect(await page.locator('main.stale').count()).toBe(1)
    expect(await page.title()).toBe('? Heartline')
  }, 120_000)

  test('polls while a slow network delivers events later and later, and does not call them live', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript(() => {
      const real = window.fetch
      const late = (text: string) =>
        text.replace(/"generated_at":"([^"]+)"/, (_, at) => {
          const heldMs = 'isSlow' in window ? 11_000 : 0
          return `"generated_at":"${new Date(Date.parse(at) - heldMs).toISOString()}"`
        })
      window.fetch = async (input, options) => {
        const answer = await real(input, options)
        if (input !== '/api/v1/events' || answer.body === null) return answer
        const texts = answer.body
          .pipeThrough(new TextDecoderStream())
          .pipeThrough(new TransformStream<string, string>({ transform: (text, to) => to.enqueue(late(text)) }))
        return new Response(texts.pipeThrough(new TextEncoderStream()), answer)
      }
    })
    await page.goto(address)
    await page.locator(DRAWN).waitFor()

    await page.evaluate(() => Object.assign(window, { isSlow: true }))

    await page.getByText('Live, every 5 s').waitFor({ timeout: 30_000 })
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await setting.world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })
    await page.locator('tr.down').waitFor({ timeout: 30_000 })
    expect(await page.locator('.lamp').textContent()).toContain('every 5 s')
  }, 120_000)

  test('polls if events do not get through, and says so', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.route('**/api/v1/events', (route) => route.abort())
    await page.goto(address)

    await page.getByText('Live, every 5 s').waitFor()
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await setting.world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })

    await page.getByText('1 of 3 endpoints is down: node (Ethereum), connection refused.').waitFor()
  })

  test.each(['events', 'polls'])('shows true ages by a clock that is an hour fast, by %s', async (by) => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await setting.world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript(FAST)
    if (by === 'polls') await page.route('**/api/v1/events', (route) => route.abort())

    await page.goto(address)

    await page.locator('.lamp.on').waitFor()
    expect(await page.locator('tr.down .standing').textContent()).toMatch(/^Down for \d+ s$/)
  })

  test('loads again at once what it has asked for by a clock that is an hour fast', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript(FAST)
    const events = await hold(page, '**/api/v1/events')
    const isAhead = (url: string) => Number(new URL(url).searchParams.get('to')) * 1000 > systemClock.now() + 60_000
    const wrong = page.waitForRequest((request) => /history/.test(request.url()) && isAhead(request.url()))
    await page.goto(`${address}/endpoints/avalanche/own-1`)
    await wrong
    const again = page.waitForRequest((request) => /history/.test(request.url()) && !isAhead(request.url()))

    events.letGo()

    // The view itself loads again after 30 s.
    await expect(Promise.race([again.then(() => 'loaded again'), page.waitForTimeout(15_000)])).resolves.toBe(
      'loaded again',
    )
  })

  test('keeps what the stream tells if an answer to a poll comes late', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript(() => {
      const { json } = Response.prototype
      Object.assign(window, { reading: 0 })
      Response.prototype.json = async function () {
        const value = await json.call(this)
        if (!this.url.endsWith('/api/v1/status')) return value
        const of = window as unknown as { reading: number; letGo: () => void }
        of.reading++
        await new Promise<void>((resolve) => (of.letGo = resolve))
        return value
      }
    })
    await page.route('**/api/v1/events', (route) => route.abort())
    await page.goto(address)
    await page.waitForFunction(() => (window as unknown as { reading: number }).reading > 0)
    await page.unroute('**/api/v1/events')
    await page.locator(DRAWN).waitFor()
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await setting.world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })
    await page.getByText('1 of 3 endpoints is down: node (Ethereum), connection refused.').waitFor()

    await page.evaluate(async () => {
      ;(window as unknown as { letGo: () => void }).letGo()
      for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
    })

    expect(await page.title()).toBe('▲ Heartline')
  })

  test('polls all open incidents, however many there are', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const now = systemClock.now()
    for (let at = 0; at < 450; at++) {
      setting.incidents.put(incident({ id: `i-${at}`, endpoint: `removed-${at}`, openedAt: now - at * 1000 }))
    }
    const address = await serve(setting)
    const page = await blank()
    await page.route('**/api/v1/events', (route) => route.abort())
    await page.goto(`${address}/incidents?open=true`)
    await page.getByText('Live, every 5 s').waitFor()

    // The oldest is on the last page of answers.
    await page.locator('a[href="/incidents/i-449"]').first().waitFor({ state: 'attached' })
  })

  test('says that the history cannot be written, but health states are valid', async () => {
    const store = { status: () => ({ ...QUIET_STORE, trouble: 'full' as const }) }
    const observer = () => ownState({ reasons: () => [] }, store, systemClock)
    const setting = setUp({ realClock: systemClock, observer })
    await setting.world.pollAll()

    const { page } = await show(setting)

    expect(await page.locator('.impaired').textContent()).toBe(
      'Heartline has a problem of its own; health states are still valid: the history cannot be written (full).',
    )
  })

  test('shows an endpoint that was never polled as unknown', async () => {
    const { page } = await show(setUp({ realClock: systemClock }))

    expect(await page.locator('h1').textContent()).toBe('No data yet: the first polls are under way.')
    expect(await page.locator('tr.unknown').count()).toBe(3)
  })

  test('shows check names from a node as plain text', async () => {
    const setting = setUp({ realClock: systemClock })
    const hostile = nodeCheck('<img src=x onerror=alert(1)>', { contiguousFailures: 5 })
    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(OWN, { liveness: good(liveness(systemClock.now(), { checks: [hostile] })) })
    }
    await setting.world.poll(OTHER)

    const { page, complaints } = await show(setting)

    expect(await page.locator('tr.degraded .why').textContent()).toContain('<img src=x onerror=alert(1)>')
    expect(await page.locator('img').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test.each([390, 768, 1280])(
    'fits %i px with three hundred endpoints, nothing cut off at the sides',
    async (width) => {
      const endpoints = Array.from({ length: 300 }, (_, at) =>
        endpoint(`node-${at}`, { title: `A rather long name of node ${at}` }),
      )
      const setting = setUp({ realClock: systemClock, networks: [{ network: network(), endpoints }] })
      await setting.world.pollAll()

      const { page } = await show(setting, { width, height: 800, path: '/?view=list' })

      expect(await page.locator('tbody tr').count()).toBe(300)
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
      const cut = await page.evaluate(
        () =>
          [...document.querySelectorAll('tbody td')].filter(
            (cell) => cell.getBoundingClientRect().right > innerWidth + 1,
          ).length,
      )
      expect(cut).toBe(0)
    },
  )

  test('shows three hundred endpoints on one screen, names the sick, and remembers the choice of a list', async () => {
    const networks = fleet(12, 25)
    const setting = setUp({ realClock: systemClock, networks })
    await setting.world.pollAll()
    const sick = [3, 3, 7, 11].flatMap((at, place) => networks[at]?.endpoints[place] ?? [])
    for (const one of sick) {
      for (let poll = 0; poll < 2; poll++) {
        await setting.world.poll(one, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
      }
      const { network, name } = one
      setting.incidents.put(
        incident({ id: `${network}-${name}`, network, endpoint: name, openedAt: systemClock.now() }),
      )
    }

    const { page, complaints } = await show(setting, { height: 800 })

    await page.locator('.tile').nth(295).waitFor()
    expect(await page.locator('tbody tr th a:not(.code)').allTextContents()).toEqual(sick.map(({ title }) => title))
    const lowest = await page.locator('.tile').last().boundingBox()
    expect((lowest?.y ?? 0) + (lowest?.height ?? 0)).toBeLessThanOrEqual(800)
    await page.locator('.tile').first().hover()
    expect(await page.locator('.tipbox').textContent()).toMatch(/^Helsinki archive \d+: up, height 1,000, at head$/)
    await page.getByRole('link', { name: 'List' }).click()
    await page.locator('tbody tr').nth(299).waitFor()
    expect(new URL(page.url()).searchParams.get('view')).toBe('list')
    await page.goto(new URL('/', page.url()).href)
    await page.locator('tbody tr').nth(299).waitFor()
    expect(complaints).toEqual([])
  }, 60_000)

  test.each([15, 30])(
    'fits three hundred endpoints of which %i are unwell on one screen, each with its reason and duration',
    async (many) => {
      const networks = fleet(12, 25)
      const setting = setUp({ realClock: systemClock, networks })
      await setting.world.pollAll()
      const sick = Array.from({ length: many }, (_, at) => networks[at % 9]?.endpoints[Math.floor(at / 9)]).flatMap(
        (one) => one ?? [],
      )
      for (const one of sick) {
        for (let poll = 0; poll < 2; poll++) {
          await setting.world.poll(one, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
        }
        const { network, name } = one
        const openedAt = systemClock.now() - 120_000
        setting.incidents.put(incident({ id: `${network}-${name}`, network, endpoint: name, openedAt }))
      }

      const { page } = await show(setting, { height: 800 })

      await page
        .locator('.tile')
        .nth(299 - many)
        .waitFor()
      const rows = await page.locator('tbody tr').evaluateAll((all) =>
        all.map((row) => {
          const cells = [...row.querySelectorAll('a, td')].map((one) => one.getBoundingClientRect())
          const { left, right } = row.getBoundingClientRect()
          return {
            text: row.textContent.replace(/\s+/g, ' ').trim(),
            isCut: cells.some((of) => of.left < left || of.right > right),
          }
        }),
      )
      expect(rows).toHaveLength(many)
      for (const { text, isCut } of rows) {
        expect(text).toMatch(/^Helsinki archive \d+\s*unreachable\s*connection refused\s*\d+ s$/)
        expect(isCut).toBe(false)
      }
      const lowest = await page.locator('.networks').boundingBox()
      expect((lowest?.y ?? 0) + (lowest?.height ?? 0)).toBeLessThanOrEqual(800)
    },
    60_000,
  )

  test('on a phone an open incident with a long duration is read as lines, not as a column of letters', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const now = systemClock.now()
    const [condition] = incident().conditions
    if (condition === undefined) throw new Error('an incident has a condition')
    const conditions = [120_000, 60_000].map((ago) => ({ ...condition, since: now - ago, until: now - ago + 20_000 }))
    setting.incidents.put(incident({ openedAt: now - 120_000, conditions, flapping: true }))

    const { page } = await show(setting, { width: 390 })

    await page.getByText('of which down').waitFor()
    const text = await page.locator('.incidents li p').boundingBox()
    expect(text?.width).toBeGreaterThan(250)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  test('on a phone the incidents of an endpoint are read as lines, with a long duration below', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const now = systemClock.now()
    const [condition] = incident().conditions
    if (condition === undefined) throw new Error('an incident has a condition')
    const conditions = [300, 200, 100].map((ago) => {
      const since = now - ago * 1000
      return {
        ...condition,
        state: ago === 200 ? ('degraded' as const) : condition.state,
        since,
        until: since + 50_000,
      }
    })
    setting.incidents.put(incident({ openedAt: now - 300_000, conditions, flapping: true }))

    const { page } = await show(setting, { path: '/endpoints/avalanche/own-1', width: 390 })

    await page.locator('.happened', { hasText: /of which down 1 min 40 s, 2 times; degraded 50 s/ }).waitFor()
    expect((await page.locator('.happened p').boundingBox())?.width).toBeGreaterThan(250)
    expect(await excessWidth(page)).toEqual([])
  })

  test('fits a phone with a title of a hundred characters without a space', async () => {
    const title = 'archive_node_'.repeat(8).slice(0, 100)
    const one = endpoint('own-1', { network: 'avalanche', title })
    const networks = [{ network: network({ name: 'avalanche', title: title.toUpperCase() }), endpoints: [one] }]
    const setting = setUp({ realClock: systemClock, networks })
    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(one, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }
    setting.incidents.put(incident({ openedAt: systemClock.now() - 120_000 }))
    const address = await serve(setting)

    for (const path of ['/', '/endpoints/avalanche/own-1', '/incidents', '/incidents/incident-1']) {
      const { page } = await showAt(address + path, { width: 390 })
      expect(await page.locator('main').innerText()).toContain(title)
      expect([path, await excessWidth(page)]).toEqual([path, []])
    }
  })

  test('the first tap on a tile tells its figures, and the second one opens it', async () => {
    const setting = setUp({ realClock: systemClock, networks: fleet(1, 41) })
    await setting.world.pollAll()
    const page = await blank({ hasTouch: true, width: 390 })
    await page.goto(await serve(setting))
    await page.locator('.lamp.on').waitFor()
    const [first, second] = [page.locator('.tile').first(), page.locator('.tile').nth(3)]
    const told = () => page.locator('.tipbox:not([hidden])').textContent()

    // WCAG 2.5.8: what is smaller is hard to hit with a finger.
    expect((await first.boundingBox())?.height).toBeGreaterThanOrEqual(24)
    for (const tile of [first, second]) {
      await tile.tap()
      await page.locator('.tipbox:not([hidden])').waitFor()
      expect(await told()).toBe(await tile.getAttribute('aria-label'))
    }
    expect(await told()).toMatch(/: up, height 1,000, at head$/)
    expect(new URL(page.url()).pathname).toBe('/')
    await page.locator('h1').tap()
    await page.locator('.tipbox:not([hidden])').waitFor({ state: 'detached' })
    await second.tap()
    expect(new URL(page.url()).pathname).toBe('/')
    await second.tap()

    await page.waitForURL('**/endpoints/net-0/*')
  })

  test('the text at the pointer follows the live state, and is hidden when its tile is gone', async () => {
    const networks = fleet(1, 41)
    const setting = setUp({ realClock: systemClock, networks })
    await setting.world.pollAll()
    const { page } = await show(setting)
    const [one] = networks[0]?.endpoints ?? []
    if (one === undefined) throw new Error('no endpoint')
    const tile = page.locator('.tile').first()
    const tip = page.locator('.tipbox:not([hidden])')
    await tile.hover()
    await tip.getByText('height 1,000').waitFor()

    await setting.world.poll(one, { heads: [{ shard: null, outcome: good(head(1001, systemClock.now())) }] })
    await tip.getByText('height 1,001').waitFor()
    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(one, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }

    await page.locator('tr.down').waitFor()
    expect(await page.locator('.tile').count()).toBe(40)
    await tip.waitFor({ state: 'detached' })
  })

  test('the order holds while the reader is among the endpoints, for at most a minute without a move', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const page = await blank()
    await page.addInitScript(() => {
      const now = performance.now.bind(performance)
      let skippedMs = 0
      performance.now = () => now() + skippedMs
      Object.assign(window, { skip: (ms: number) => (skippedMs += ms) })
    })
    await page.goto(await serve(setting))
    await page.getByText('All 3 endpoints are up.').waitFor()
    const networks = () => page.locator('section.network h2').allTextContents()
    const fail = async (failure: { readonly kind: 'refused' | 'reset' }) => {
      for (let poll = 0; poll < 2; poll++) {
        await setting.world.poll(NODE, { heads: [{ shard: null, outcome: bad(failure) }] })
      }
    }

    // The code is loaded with the first move.
    await page.locator('[data-strip]').first().hover()
    await page.locator('.tipbox').waitFor()
    await page.getByRole('link', { name: 'Own node 1' }).hover()
    await fail({ kind: 'refused' })
    await page.locator('tr.down').getByText('connection refused').waitFor()
    expect(await networks()).toEqual(['Avalanche', 'Ethereum'])

    await page.evaluate('skip(61_000)')
    await fail({ kind: 'reset' })
    await page.locator('tr.down').getByText('connection refused').waitFor({ state: 'detached' })
    expect(await networks()).toEqual(['Ethereum', 'Avalanche'])
  })

  test('the order holds by the keyboard too, until the focus is elsewhere', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.getByText('All 3 endpoints are up.').waitFor()
    const networks = () => page.locator('section.network h2').allTextContents()

    // The code is loaded with the first focus.
    await page.locator('[data-strip]').first().focus()
    await page.locator('.tipbox').waitFor()
    await page.locator('#filter').focus()
    await page.keyboard.press('Tab')
    expect(await page.locator('.networks :focus-visible').count()).toBe(1)
    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }
    await page.locator('tr.down').waitFor()
    expect(await networks()).toEqual(['Avalanche', 'Ethereum'])

    await page.locator('#filter').focus()
    await setting.world.poll(OWN, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    await expect.poll(networks, { timeout: 20_000 }).toEqual(['Ethereum', 'Avalanche'])
  })

  test('the card of open incidents holds its lines under the pointer', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const at = systemClock.now()
    const put = (name: string, openedAt: number, closedAt: number | null = null) =>
      setting.incidents.put(incident({ id: name, endpoint: name, openedAt, closedAt }))
    put('own-1', at - 60_000)
    put('own-2', at - 50_000)
    const { page } = await show(setting)
    const lines = async () =>
      (await page.locator('.incidents li p').allTextContents()).map((line) => line.split(/ is | closed/, 1)[0]?.trim())
    await page.locator('.incidents li').nth(1).waitFor()

    // The code is loaded with the first move.
    await page.locator('[data-strip]').first().hover()
    await page.locator('.tipbox').waitFor()
    await page.locator('.incidents li').nth(1).hover()
    put('own-1', at - 60_000, at)
    put('gone', at - 90_000)
    await page.locator('.incidents').getByText('closed', { exact: true }).waitFor()
    await page.locator('.incidents li').nth(2).waitFor()
    expect(await lines()).toEqual(['Avalanche: Own node 1', 'Avalanche: Own node 2', 'Avalanche: gone'])

    await page.locator('h1').hover()
    await expect.poll(lines, { timeout: 20_000 }).toEqual(['Avalanche: gone', 'Avalanche: Own node 2'])
  })

  test('a heading of a column says what it means, to the pointer and by the keyboard', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page, complaints } = await show(setting)
    const heading = page.getByRole('columnheader', { name: 'p95, 1 h' }).first()

    await heading.hover()
    await expect.poll(() => page.locator('.tipbox').textContent()).toMatch(/^95 of 100 polls of the last hour/)
    await page.mouse.move(2, 2)
    await page.locator('.tipbox').waitFor({ state: 'hidden' })
    await page.keyboard.press('/')
    while ((await page.evaluate(() => document.activeElement?.textContent)) !== 'Lag') await page.keyboard.press('Tab')

    await expect.poll(() => page.locator('.tipbox').textContent()).toMatch(/^Blocks behind the head/)
    expect(complaints).toEqual([])
  })

  test('headings stay in view, sort without a reload, and are reached by the keyboard on a phone too', async () => {
    const many = Array.from({ length: 30 }, (_, at) => ({ ...NODE, name: `n${at}`, title: `n${at}` }))
    const setting = setUp({ realClock: systemClock, networks: [{ network: network(), endpoints: many }] })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.evaluate(() => Object.assign(window, { isSame: true }))
    const heading = page.getByRole('link', { name: 'Endpoint', exact: true })

    await page.evaluate(() => scrollTo(0, 600))
    expect(await heading.evaluate((one) => Math.round(one.closest('th')?.getBoundingClientRect().top ?? -1))).toBe(0)
    await heading.click()

    await page.waitForURL('**/?sort=name')
    await page.locator('th[aria-sort=ascending]').waitFor()
    expect(await page.locator('tbody tr a').first().innerText()).toBe('n0')
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    await page.setViewportSize({ width: 390, height: 844 })
    await heading.focus()
    expect(await heading.evaluate((one) => one.getBoundingClientRect().width)).toBeGreaterThan(30)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  test('keeps search, filter and order in the address', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/?show=state:up&q=node%201' })

    expect(await page.locator('tbody tr th a').allTextContents()).toEqual(['Own node 1'])
    await page.locator('#search').fill('ethereum')
    await expect.poll(() => new URL(page.url()).search).toBe('?show=state%3Aup&q=ethereum')
    await page.locator('tbody tr th a', { hasText: 'node' }).first().waitFor()
  })

  test('keeps filters that are saved, on every visit, until they are forgotten', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/?show=state:up&q=node%201' })
    await page.getByRole('button', { name: 'Save filter' }).click()
    await page.getByRole('button', { name: 'Forget filter' }).waitFor()

    await page.goto(new URL('/', page.url()).href)
    await page
      .getByRole('navigation', { name: 'Saved filters' })
      .getByRole('link', { name: 'node 1, state:up' })
      .click()

    await page.waitForURL('**/?q=node+1&show=state%3Aup')
    expect(await page.locator('tbody tr th a').allTextContents()).toEqual(['Own node 1'])
    await page.getByRole('button', { name: 'Forget filter' }).click()
    await page.getByRole('button', { name: 'Save filter' }).waitFor()
    expect(await page.getByRole('navigation', { name: 'Saved filters' }).count()).toBe(0)
  })

  test('forgets a filter that was saved with its parts in another order', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.evaluate(() => localStorage.setItem('heartline', '{"saved":["show=state%3Aup&q=node+1"]}'))
    await page.goto(new URL('/?q=node+1&show=state:up', page.url()).href)

    await page.getByRole('button', { name: 'Forget filter' }).click()
    await page.getByRole('button', { name: 'Save filter' }).waitFor()
    expect(await page.getByRole('navigation', { name: 'Saved filters' }).count()).toBe(0)
  })

  test('keeps a filter that another tab saved', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting, { path: '/?show=state:up' })
    const other = await page.context().newPage()
    await other.goto(new URL('/?q=node', page.url()).href)
    await other.getByRole('button', { name: 'Save filter' }).click()

    await page.locator('.saved').waitFor()
    await page.getByRole('button', { name: 'Save filter' }).click()

    const saved = (tab: Page) =>
      tab.getByRole('navigation', { name: 'Saved filters' }).getByRole('link').allTextContents()
    await expect.poll(() => saved(other)).toEqual(['node', 'state:up'])
    expect(await saved(page)).toEqual(['node', 'state:up'])
  })

  test('is stale without the daemon also while a style sheet does not arrive', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const { page } = await show(setting)
    await page.locator('.lamp.on').waitFor()
    const { asked } = await hold(page, '**/wall.css')
    await page.locator('#search').fill('node')
    await asked

    await page.evaluate(() => {
      const { now } = Date
      Date.now = () => now() + 3_600_000
    })
    await setting.server.close()

    await page.getByText('Stale for 1 h').waitFor({ timeout: 30_000 })
  }, 60_000)

  test('is stale without the daemon also while code of the first drawing does not arrive', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    const { asked } = await hold(page, '**/wall-*.js')
    await page.goto(`${address}/?q=node`)
    await asked

    await setting.server.close()

    await page.getByText('Stale for').waitFor({ timeout: 30_000 })
    expect(await page.locator('main.stale').count()).toBe(1)
  }, 60_000)

  test('becomes live though code of the first drawing could not be loaded at first', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.route('**/wall-*.js', (route) => route.abort(), { times: 1 })
    await page.goto(`${address}/?q=node`)

    await page.locator('.lamp.on').waitFor({ timeout: 30_000 })
  }, 60_000)

  test('becomes live though the code of its view could not be loaded at first', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    // Once to preload it, once to import it.
    await page.route('**/incidents.js', (route) => route.abort(), { times: 2 })
    await page.goto(`${address}/incidents`)

    await page.locator('.lamp.on').waitFor({ timeout: 30_000 })
  }, 60_000)

  test('opens the runbook of a condition, and shows it without scripts', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    for (let poll = 0; poll < 2; poll++) {
      await setting.world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }
    const { page, complaints } = await show(setting)

    await page.getByRole('link', { name: 'unreachable' }).click()

    await page.getByRole('heading', { name: 'HeartlineEndpointDown' }).waitFor()
    await page.getByRole('heading', { name: 'What to do' }).waitFor()
    const plain = await blank({ scripts: false })
    await plain.goto(new URL('/runbooks/HeartlineEndpointLagging', page.url()).href)
    expect(await plain.locator('h1').innerText()).toBe('HeartlineEndpointLagging')
    expect(complaints).toEqual([])
  })
})

function aBucket(start: number, widthMs: number): HistoryBucket {
  const times = { upMs: widthMs, degradedMs: 0, downMs: 0, maintenanceMs: 0, unknownMs: 0 }
  const latencies = { latencyP50Ms: 10, latencyP95Ms: 20, latencyMaxMs: 30 }
  const rest = { polls: 60, height: 1000, lagBlocksMax: 0, heartbeatLagMaxMs: null, contiguousFailuresMax: null }
  return { start, ...times, ...latencies, ...rest }
}
