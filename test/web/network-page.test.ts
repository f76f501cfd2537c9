import { execFileSync } from 'node:child_process'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { type Setting, setUp } from '../http/setting.ts'
import { endpoint, good, head, network } from '../support/network.ts'
import { requirePackage } from '../support/system-package.ts'

const hasChromium = requirePackage('chromium', 'chromium')
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const TOKEN = 'a-token-of-sixteen-and-more'
const NODES = ['one', 'two', 'three'].map((name) => endpoint(name, { title: `Node ${name}` }))
const PATH = '/networks/ethereum'

describe.runIf(hasChromium)('a network in Chromium', () => {
  let browser: Browser
  const open: Setting[] = []

  beforeAll(async () => {
    execFileSync(process.execPath, ['.ci/page.mjs'], { stdio: 'pipe' })
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
  }, 120_000)
  afterAll(() => browser?.close())
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
    for (const { server } of open.splice(0)) await server.close()
  })

  /** All are at these heights, one after the other; the third one is on a branch of its own from 1003 on. */
  async function advance({ world }: Setting, ...heights: number[]): Promise<void> {
    for (const height of heights) {
      for (const [place, node] of NODES.entries()) {
        const isOdd = place === 2 && height >= 1003
        const over = isOdd
          ? { hash: `0xbad${height}`, parentHash: height === 1003 ? '0x1002' : `0xbad${height - 1}` }
          : {}
        const block = head(height, systemClock.now() - 1000 * (1010 - height), over)
        await world.poll(node, { heads: [{ shard: null, outcome: good(block) }] })
      }
    }
  }

  async function start(options: { readonly token?: Secret } = {}): Promise<{ setting: Setting; address: string }> {
    const setting = setUp({ realClock: systemClock, options, networks: [{ network: network(), endpoints: NODES }] })
    open.push(setting)
    await advance(setting, 1000, 1001, 1002, 1003, 1004)
    const { port } = await setting.server.listen()
    return { setting, address: `http://127.0.0.1:${port}${PATH}` }
  }

  interface Look {
    readonly colorScheme?: 'light' | 'dark'
    readonly width?: number
    readonly scripts?: boolean
  }

  async function show(address: string, { colorScheme = 'light', width = 1280, scripts = true }: Look = {}) {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme,
      javaScriptEnabled: scripts,
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    await page.goto(address)
    if (scripts) await page.waitForSelector('.lamp.on')
    return { page, complaints }
  }

  test('is there before and without JavaScript: race, blocks and whom the gateway would ask', async () => {
    const { address } = await start()

    const { page } = await show(address, { scripts: false })

    expect(await page.locator('h1').innerText()).toBe('Ethereum')
    expect(await page.locator('.race tbody tr').count()).toBe(4)
    expect(await page.locator('.disputed').innerText()).toContain('another block than most: Node three')
    expect(await page.locator('.routing ol li').count()).toBeGreaterThan(1)
  }, 120_000)

  test('goes on by itself when blocks come', async () => {
    const { setting, address } = await start()
    const { page, complaints } = await show(address)
    await page.locator('.race .chain .height', { hasText: '1,004' }).waitFor()

    await advance(setting, 1005)

    await page.locator('.race .chain .height', { hasText: '1,005' }).waitFor()
    expect(complaints).toEqual([])
  }, 120_000)

  test('is walked block by block with the keys, one stop for the whole race, and read under the pointer', async () => {
    const { address } = await start()
    const { page } = await show(address)
    const band = page.getByRole('slider')
    expect(await band.count()).toBe(1)

    await band.focus()
    // What reads the keys is loaded when the first of them, or the focus, comes.
    const at = () => band.getAttribute('aria-valuenow')
    const pressed = async (key: string) => page.keyboard.press(key).then(at)
    await expect.poll(() => pressed('Home'), { timeout: 60_000 }).toBe('1')
    await page.keyboard.press('ArrowRight')
    await expect.poll(at, { timeout: 60_000 }).toBe('2')

    expect(await band.getAttribute('aria-valuetext')).toMatch(/^1,\d{3}: After the one before .*, Node one /)
    await page.keyboard.press('Escape')
    await page.locator('.race tr:not(.chain) .track').first().hover()
    await page.locator('.tipbox:not([hidden])', { hasText: 'Node one' }).waitFor()
  }, 120_000)

  test('shows the public names and states alone', async () => {
    const { address } = await start({ token: new Secret(TOKEN) })

    const { page, complaints } = await show(address)

    await page.getByText('shown to who signs in').waitFor()
    const text = await page.locator('main').innerText()
    expect(text).toContain('Node one')
    expect(text).not.toMatch(/1,004|bad1004|0x/)
    expect(complaints).toEqual([])
  }, 120_000)

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'has no finding of axe in %s at %i px, and nothing sticks out',
    async (colorScheme, width) => {
      const { address } = await start()
      const { page } = await show(address, { colorScheme, width })
      await page.locator('.lens').waitFor()

      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    },
    120_000,
  )
})

/** By the debugger's way in: the page's own policy lets nothing inline run. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document)
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
  })
}
