import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { embedHeight } from '../../web/views/network/embed.ts'
import { findingsInAllLooks, hasChromium, openChromium } from '../support/chromium.ts'
import { bad, endpoint, network } from '../support/network.ts'
import { NODE, setUp } from './setting.ts'

const TOKEN = { options: { token: new Secret('a-token-of-the-operator') } }

describe('/embed/NETWORK', () => {
  test('may be framed by others, and no other page may', async () => {
    const { server } = setUp(TOKEN)

    const embed = await server.inject('/embed/ethereum')
    const page = await server.inject('/networks/ethereum')

    expect(embed.headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *",
    )
    expect(embed.headers['x-frame-options']).toBeUndefined()
    expect(embed.headers['cross-origin-resource-policy']).toBe('cross-origin')
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(page.headers['x-frame-options']).toBe('DENY')
  })

  test('shows what the public sees, also to who may see more, and has no script', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    for (let poll = 0; poll < 2; poll++) {
      await world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }

    const { body } = await server.inject('/embed/ethereum')

    expect(body).toContain('1 down')
    expect(body).not.toMatch(/connection refused|1,000|<script/)
  })

  test('is drawn once in five seconds for all viewers, and waits for no history', async () => {
    const { server, world, clock } = setUp({ store: { history: () => new Promise(() => {}) } })
    const body = async () => (await server.inject('/embed/ethereum')).body
    const before = await body()
    await world.pollAll()

    expect(await body()).toBe(before)
    await clock.advance(5000)
    expect(await body()).not.toBe(before)
  })

  test('is missing for an unknown network, and refused where nothing is public', async () => {
    expect((await setUp(TOKEN).server.inject('/embed/nothing')).statusCode).toBe(404)
    const closed = setUp({ options: { ...TOKEN.options, public: false } })
    expect((await closed.server.inject('/embed/ethereum')).statusCode).toBe(401)
  })
})

describe.runIf(hasChromium)('an embedded network in Chromium', () => {
  const { blank, serve, show } = openChromium()
  const closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })

  /** A page of another site with this in a frame. */
  async function framing(url: string): Promise<string> {
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(`<iframe src="${url}"></iframe>`),
    ).listen(0, '127.0.0.1')
    closing.push(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    return `http://localhost:${(server.address() as AddressInfo).port}`
  }

  test('is shown in a frame of another site, where no other page is', async () => {
    const setting = setUp({ realClock: systemClock, ...TOKEN })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()

    await page.goto(await framing(`${address}/embed/ethereum`))
    await page.frameLocator('iframe').getByRole('link', { name: 'Ethereum' }).waitFor()

    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
    await page.goto(await framing(`${address}/networks/ethereum`))
    await refused
  })

  test.each([1, 3, 25])('of %i endpoints is cut off nowhere in a frame of the height in its code', async (many) => {
    const of = network({ title: 'A network with a title that needs more room than a narrow frame has' })
    const endpoints = Array.from({ length: many }, (_, at) =>
      endpoint(`node-${at}`, { title: `Helsinki archive node ${at}` }),
    )
    const setting = setUp({ realClock: systemClock, networks: [{ network: of, endpoints }], ...TOKEN })
    await setting.world.pollAll()
    const standing = setting.world.board.network('ethereum')?.standing
    if (standing !== undefined) setting.world.board.putStanding({ ...standing, haltedShards: [null] }, true)
    const address = await serve(setting)
    const height = embedHeight(many)

    for (const width of [300, 520]) {
      const page = await blank({ width, height })
      await page.goto(`${address}/embed/ethereum`)
      const whole = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.scrollHeight,
      ])
      expect(whole).toEqual([width, height])
      expect(await page.locator('.embed p').last().innerText()).toMatch(/^As of/)
    }
  })

  test('has no finding of axe', async () => {
    const setting = setUp({ realClock: systemClock, ...TOKEN })
    await setting.world.pollAll()

    const { page, complaints } = await show(`${await serve(setting)}/embed/ethereum`, { until: 'h1' })

    expect(await findingsInAllLooks(page)).toEqual([])
    expect(complaints).toEqual([])
  })
})
