import type { BrowserContext, Page, Request } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Certificate } from '../../src/gateway/request/listener.ts'
import { NODE, type Setting, setUp } from '../http/setting.ts'
import { DRAWN, hasChromium, hide, openChromium } from '../support/chromium.ts'
import { certificate } from '../support/handshakes.ts'
import { bad } from '../support/network.ts'

const PATIENCE = { timeout: 30_000 }

describe.runIf(hasChromium)('tabs of one browser', () => {
  const { blank, serve } = openChromium()

  async function open(many: number, tls: Certificate | null = null) {
    const setting = setUp({ realClock: systemClock, options: { tls } })
    await setting.world.pollAll()
    const address = await serve(setting, tls === null ? 'http' : 'https')
    const first = await blank({ ignoreHTTPSErrors: tls !== null })
    const context = first.context()
    const streams = countStreams(context)
    const tabs = [first, ...(await Promise.all(Array.from({ length: many - 1 }, () => context.newPage())))]
    await Promise.all(tabs.map((tab) => tab.goto(address)))
    for (const tab of tabs) await tab.locator('.lamp.on').waitFor()
    return { setting, address, tabs, streams, context }
  }

  /** The streams that are open now, by the tab that holds each. */
  function countStreams(context: BrowserContext): { readonly open: Set<Page> } {
    const open = new Set<Page>()
    const isStream = (url: string) => new URL(url).pathname === '/api/v1/events'
    context.on('request', (request) => {
      if (isStream(request.url())) open.add(request.frame().page())
    })
    const ended = (request: Request) => {
      if (isStream(request.url())) open.delete(request.frame().page())
    }
    context.on('requestfailed', ended)
    context.on('requestfinished', ended)
    return { open }
  }

  async function takeDown({ world }: Setting): Promise<void> {
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await world.poll(NODE, { heads: [{ shard: null, outcome: refused }] })
  }

  /** Keeps back what the tab asks the others, until the function that it returns is called. */
  async function keepBackHello(tab: Page): Promise<() => Promise<void>> {
    await tab.addInitScript(() => {
      const { postMessage } = BroadcastChannel.prototype
      const held: (() => void)[] = []
      BroadcastChannel.prototype.postMessage = function (message) {
        const send = () => postMessage.call(this, message)
        if (Object.hasOwn(Object(message), 'hello')) held.push(send)
        else send()
      }
      const letGo = () => {
        BroadcastChannel.prototype.postMessage = postMessage
        for (const send of held) send()
      }
      Object.assign(window, { held, letGo })
    })
    return () => tab.evaluate(() => (window as unknown as { letGo: () => void }).letGo())
  }

  /** Lets the tab lose all contact, its stream included, and have it again. */
  async function withCable(tab: Page): Promise<(is: 'cut' | 'whole') => Promise<void>> {
    await tab.addInitScript(() => {
      const real = window.fetch
      let cut: AbortController | null = new AbortController()
      window.fetch = (input, options = {}) => {
        const signals = [cut?.signal ?? AbortSignal.abort(), ...(options.signal ? [options.signal] : [])]
        return real(input, { ...options, signal: AbortSignal.any(signals) })
      }
      const cable = (is: 'cut' | 'whole') => {
        cut?.abort()
        cut = is === 'cut' ? null : new AbortController()
      }
      Object.assign(window, { cable })
    })
    return (is) => tab.evaluate((to) => (window as unknown as { cable: (is: string) => void }).cable(to), is)
  }

  test.each([
    ['HTTP', null],
    ['TLS', certificate('a')],
  ])(
    'ten over %s share one event stream: each is live, and an eleventh opens an endpoint at once',
    async (_over, tls) => {
      const { setting, address, tabs, streams, context } = await open(10, tls)
      expect(streams.open.size).toBe(1)

      await takeDown(setting)

      for (const tab of tabs) await expect.poll(() => tab.title(), PATIENCE).toBe('▲ Heartline')
      const eleventh = await context.newPage()
      await eleventh.goto(`${address}/endpoints/ethereum/node`)
      await eleventh.locator('.lamp.on').waitFor()
      await eleventh.getByRole('heading', { name: 'Thresholds' }).waitFor()
      expect(streams.open.size).toBe(1)
    },
    120_000,
  )

  test('go on when the one that holds the stream is closed', async () => {
    const { setting, tabs, streams } = await open(3)
    const [holder] = streams.open
    if (holder === undefined) throw new Error('no tab holds a stream')

    await holder.close()

    await expect.poll(() => [...streams.open].filter((tab) => tab !== holder).length, PATIENCE).toBe(1)
    await takeDown(setting)
    for (const tab of tabs.filter((tab) => tab !== holder)) {
      await expect.poll(() => tab.title(), PATIENCE).toBe('▲ Heartline')
    }
  }, 120_000)

  test('a hidden one gives the stream to a visible one, and still tells the state in its title', async () => {
    const { setting, tabs, streams } = await open(2)
    const [holder] = streams.open
    const other = tabs.find((tab) => tab !== holder)
    if (holder === undefined || other === undefined) throw new Error('no tab holds a stream')
    await hide(other, true)
    await hide(holder, true)
    expect([...streams.open]).toEqual([holder])

    await hide(other, false)

    await expect.poll(() => [...streams.open], PATIENCE).toEqual([other])
    await takeDown(setting)
    await expect.poll(() => holder.title(), PATIENCE).toBe('▲ Heartline')
  }, 120_000)

  test('one that hears of a change before the whole takes over from a hidden one, and shows the change', async () => {
    const { setting, address, tabs, context } = await open(1)
    const [first] = tabs
    const second = await context.newPage()
    const letGo = await keepBackHello(second)
    await second.goto(address)
    await second.waitForFunction(() => (window as unknown as { held: unknown[] }).held.length > 0)
    if (first !== undefined) await hide(first, true)

    await takeDown(setting)
    await expect.poll(() => first?.title(), PATIENCE).toBe('▲ Heartline')
    await letGo()

    await second.locator(DRAWN).waitFor(PATIENCE)
    expect(await second.title()).toBe('▲ Heartline')
  }, 120_000)

  test('one that joins while the daemon is gone shows what changes when it is back', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const address = await serve(setting)
    const first = await blank()
    const cable = await withCable(first)
    await first.goto(address)
    await first.locator('.lamp.on').waitFor()
    await cable('cut')
    await first.locator('.lamp.off').waitFor(PATIENCE)
    const second = await first.context().newPage()
    await second.goto(address)

    await cable('whole')

    await first.locator('.lamp.on').waitFor(PATIENCE)
    await takeDown(setting)
    await second.locator(DRAWN).waitFor(PATIENCE)
    await expect.poll(() => second.title(), PATIENCE).toBe('▲ Heartline')
  }, 120_000)

  test('a hidden one without Web Locks has no stream, and polls at one pace', async () => {
    const setting = setUp({ realClock: systemClock })
    await setting.world.pollAll()
    const tab = await blank({ alone: true })
    const streams = countStreams(tab.context())
    let polls = 0
    tab.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/v1/status') polls++
    })
    await tab.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
    await tab.clock.install()
    await tab.goto(await serve(setting))
    await tab.locator('.lamp.on').waitFor()

    await hide(tab, true)
    await expect.poll(() => [streams.open.size, polls], PATIENCE).toEqual([0, 1])

    for (let minute = 0; minute < 6; minute++) await tab.clock.runFor(10_000)
    await expect.poll(() => polls, PATIENCE).toBeGreaterThanOrEqual(12)
    expect(polls).toBeLessThanOrEqual(15)
  }, 120_000)

  test('say within seconds that the daemon is gone, and that a link waits for it', async () => {
    const { setting, tabs } = await open(2)
    for (const tab of tabs) await expect.poll(() => tab.locator('h1').textContent(), PATIENCE).toMatch(/are up/)
    const goneAt = Date.now()

    await setting.server.close()

    for (const tab of tabs) await tab.locator('.lamp.off').waitFor(PATIENCE)
    expect(Date.now() - goneAt).toBeLessThan(8000)
    const [first] = tabs
    await first?.getByRole('link', { name: 'Observer' }).click()
    await first?.getByText('follows as soon as Heartline is back').waitFor()
    expect(await first?.locator('h1').textContent()).toMatch(/^Cannot reach Heartline\. This page shows data from /)
  }, 120_000)
})
