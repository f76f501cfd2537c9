import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { type Setting, setUp } from '../http/setting.ts'
import { excessWidth, findingsInAllLooks, hasChromium, openChromium } from '../support/chromium.ts'
import { endpoint, good, head, network } from '../support/network.ts'

const TOKEN = 'a-token-of-sixteen-and-more'
const NODES = ['one', 'two', 'three'].map((name) => endpoint(name, { title: `Node ${name}` }))
const PATH = '/networks/ethereum'

describe.runIf(hasChromium)('a network in Chromium', () => {
  const { blank, serve, show } = openChromium()

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
    await advance(setting, 1000, 1001, 1002, 1003, 1004)
    return { setting, address: (await serve(setting)) + PATH }
  }

  test('shows block arrival, hashes and routing order without JavaScript', async () => {
    const { address } = await start()

    const { page } = await show(address, { scripts: false })

    expect(await page.locator('h1').innerText()).toBe('Ethereum')
    expect(await page.locator('.race tbody tr').count()).toBe(4)
    expect(await page.locator('.disputed').innerText()).toContain('different block than the majority: Node three')
    expect(await page.locator('.routing ol li').count()).toBeGreaterThan(1)
  }, 120_000)

  test.each([
    [320, 'Archive node '],
    [1280, 'Archive node '],
    [320, 'archive_node_'],
  ])('fits %i px with titles of a hundred characters, like %s', async (width, words) => {
    const title = words.repeat(8).slice(0, 100)
    const endpoints = NODES.map((node) => ({ ...node, title }))
    const setting = setUp({ realClock: systemClock, networks: [{ network: network(), endpoints }] })
    await advance(setting, ...Array.from({ length: 20 }, (_, at) => 985 + at))

    const { page } = await show((await serve(setting)) + PATH, { width })

    expect(await page.locator('.lens thead th').count()).toBeGreaterThan(8)
    expect(await excessWidth(page)).toEqual([])
  })

  test('updates when blocks arrive', async () => {
    const { setting, address } = await start()
    const { page, complaints } = await show(address)
    await page.locator('.race .chain .height', { hasText: '1,004' }).waitFor()

    await advance(setting, 1005)

    await page.locator('.race .chain .height', { hasText: '1,005' }).waitFor()
    expect(complaints).toEqual([])
  }, 120_000)

  test('loads blocks every three seconds, but strips only once a minute', async () => {
    const page = await blank({ alone: true })
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.clock.install()
    await page.goto((await start()).address)
    await page.locator('.lamp.on').waitFor()
    const blocks = () => asked.filter((path) => path.endsWith('/blocks')).length
    const strips = () => asked.filter((path) => path === '/api/v1/strips').length

    for (let load = 0; load < 4; load++) {
      const before = blocks()
      await page.clock.fastForward(4000)
      await expect.poll(blocks, { timeout: 30_000 }).toBeGreaterThan(before)
    }
    expect(strips()).toBe(1)

    await page.clock.fastForward(60_000)
    await expect.poll(strips, { timeout: 30_000 }).toBe(2)
  })

  test('on a phone no figure of a row covers another', async () => {
    const { address } = await start()
    const { page } = await show(address, { width: 390, height: 844 })
    await page.locator('.race .first').first().waitFor()

    const covered = await page.evaluate(() => {
      const boxOf = (cell: Element) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return range.getBoundingClientRect()
      }
      return [...document.querySelectorAll('.race tbody tr:not(.chain)')].flatMap((row) => {
        // The longest text that a row may have.
        const first = row.querySelector('td.first')
        const small = first?.querySelector('small') ?? first?.appendChild(document.createElement('small'))
        if (small !== undefined) small.textContent = ' 1,234 certain'
        const cells = [...row.querySelectorAll('td.first, td.later, td.height, td.lag')].map((cell) => boxOf(cell))
        return cells.flatMap((a, at) =>
          cells
            .slice(at + 1)
            .filter((b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
            .map((b) => [a.left, a.right, b.left, b.right]),
        )
      })
    })

    expect(covered).toEqual([])
  }, 120_000)

  test('the keyboard moves block by block, with one tab stop for all lanes; the pointer reads them too', async () => {
    const { address } = await start()
    const { page } = await show(address)
    const band = page.locator('.race [role=slider]')
    expect(await band.count()).toBe(1)

    await band.focus()
    // What reads the keys is loaded when the first of them, or the focus, comes.
    const at = () => band.getAttribute('aria-valuenow')
    const pressed = async (key: string) => page.keyboard.press(key).then(at)
    await expect.poll(() => pressed('Home'), { timeout: 60_000 }).toBe('1')
    await page.keyboard.press('ArrowRight')
    await expect.poll(at, { timeout: 60_000 }).toBe('2')

    expect(await band.getAttribute('aria-valuetext')).toMatch(/^1,\d{3}: Since previous block .*, Node one /)
    await page.keyboard.press('Escape')
    await page.locator('.race tr:not(.chain) .track').first().hover()
    await page.locator('.tipbox:not([hidden])', { hasText: 'Node one' }).waitFor()
  }, 120_000)

  test('shows only names and states to the public', async () => {
    const { address } = await start({ token: new Secret(TOKEN) })

    const { page, complaints } = await show(address)

    await page.getByText('Sign in to see heights').waitFor()
    const text = await page.locator('main').innerText()
    expect(text).toContain('Node one')
    expect(text).not.toMatch(/1,004|bad1004|0x/)
    expect(complaints).toEqual([])
  }, 120_000)

  test('has no finding of axe, light and dark, on a screen and a phone', async () => {
    const { address } = await start()
    const { page } = await show(address)
    await page.locator('.lens').waitFor()

    expect(await findingsInAllLooks(page)).toEqual([])
  }, 120_000)
})
