import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { opened, temporaryDirectory } from '../store/setting.ts'
import { DRAWN, hasChromium, openChromium } from '../support/chromium.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'
import { endpoint, network } from '../support/network.ts'
import { NODE, type SettingOptions, setUp } from './setting.ts'

const TOKEN = 'a-token-of-the-operator'
const HIDDEN = endpoint('secret-node', { network: 'secret-net', title: 'Secret node', labels: { region: 'secret' } })
const NETWORKS = [
  { network: network(), endpoints: [NODE] },
  { network: network({ name: 'secret-net', title: 'Secret chain' }), endpoints: [HIDDEN] },
]
const PAGE = { title: 'Acme & sons', logo: '<svg xmlns="http://www.w3.org/2000/svg"/>', networks: ['ethereum'] }

/** Two networks of which the public sees one, with incidents of both in the store and in memory. */
async function start(options: SettingOptions['options'] = {}) {
  const { store } = await opened({ path: `${temporaryDirectory()}/heartline.db` })
  const of = { network: 'secret-net', endpoint: 'secret-node' }
  const stored = incident({ id: 'secret-stored', ...of, openedAt: START - 9_000_000, closedAt: START - 8_000_000 })
  store.saveIncident(incidentRecord(stored))
  await store.flush()
  const setting = setUp({
    networks: NETWORKS,
    store,
    options: { token: new Secret(TOKEN), publicPage: PAGE, ...options },
  })
  await setting.world.pollAll()
  setting.incidents.put(incident({ id: 'secret-open', ...of, openedAt: START }))
  setting.incidents.put(incident({ id: 'shown', network: 'ethereum', endpoint: 'node', openedAt: START }))
  const period = { network: 'secret-net', endpoints: null, name: 'secret work' }
  setting.world.board.putMaintenance([{ ...period, from: START, until: START + 9e9 }])
  return setting
}

const PLACES = { network: 'secret-net', endpoint: 'secret-node', id: 'secret-open', name: 'unreachable' }

describe('server.public_page', () => {
  test('hides a network from the public on every route, and not from readers with the token', async () => {
    const { server } = await start()
    const { paths } = (await server.inject('/openapi.json')).json<{ paths: Record<string, object> }>()
    const routes = [
      ...Object.keys(paths).filter((path) => 'get' in (paths[path] ?? {}) && path !== '/api/v1/events'),
      '/',
      '/incidents',
      '/incidents/{id}',
      '/networks/{network}',
      '/networks/ethereum',
      '/endpoints/{network}/{endpoint}',
      '/embed/{network}',
      '/embed/ethereum',
    ].map((path) => path.replace(/\{(\w+)\}/g, (_, name: keyof typeof PLACES) => PLACES[name] ?? ''))
    expect(routes.length).toBeGreaterThan(25)

    const seen: string[] = []
    for (const url of routes) {
      const shown = await server.inject(url)
      // The address itself may be repeated in links to sign in.
      expect(shown.body.replaceAll(encodeURIComponent(url), ''), url).not.toMatch(/secret/i)
      if (/secret/.test(url)) expect([404, 401], url).toContain(shown.statusCode)
      const all = await server.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } })
      if (/secret/i.test(all.body)) seen.push(url)
    }

    expect(seen).toEqual(
      expect.arrayContaining([
        '/',
        '/api/v1/status',
        '/api/v1/strips',
        '/api/v1/days',
        '/api/v1/incidents',
        '/feed.xml',
      ]),
    )
  })

  test('hides it in lists by any filter, and lists what is shown', async () => {
    const { server } = await start()
    const ids = async (query: string) => {
      const { incidents } = (await server.inject(`/api/v1/incidents${query}`)).json()
      return (incidents as { id: string }[]).map(({ id }) => id)
    }

    expect(await ids('')).toEqual(['shown'])
    expect(await ids('?network=secret-net')).toEqual([])
    expect(await ids('?endpoint=secret-node&open=false')).toEqual([])
    expect((await server.inject('/api/v1/incidents/secret-stored.txt')).statusCode).toBe(404)
    expect((await server.inject('/api/v1/incidents/shown')).statusCode).toBe(200)
    expect((await server.inject('/api/v1/status')).json().networks).toHaveLength(1)
  })

  test('sends the public no event of a hidden network', async () => {
    const setting = await start()
    const { port } = await setting.server.listen()
    const stop = new AbortController()
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { signal: stop.signal })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const until = async (part: string) => {
      while (!text.includes(part)) text += (await reader?.read())?.value ?? ''
    }
    await until('"shown"')

    setting.incidents.put(
      incident({ id: 'secret-later', network: 'secret-net', endpoint: 'secret-node', openedAt: START + 1 }),
    )
    await setting.clock.advance(2000)
    setting.incidents.put(incident({ id: 'later', network: 'ethereum', endpoint: 'node', openedAt: START + 2 }))
    await setting.clock.advance(2000)
    await until('"later"')

    expect(text).not.toMatch(/secret/i)
    stop.abort()
    await setting.server.close()
  })

  test('names the page, and shows its logo', async () => {
    const { server } = await start()

    const { body } = await server.inject('/')

    expect(body).toMatch(/<title>[^<]*Acme &amp; sons<\/title>/)
    expect(body).toContain('<img src="/logo.svg" alt="" height="22" /><span>Acme &amp; sons</span>')
    const logo = await server.inject('/logo.svg')
    expect([logo.body, logo.headers['content-type']]).toEqual([PAGE.logo, 'image/svg+xml; charset=utf-8'])
    expect(logo.headers['content-security-policy']).toContain("default-src 'self'")
    expect((await setUp().server.inject('/logo.svg')).statusCode).toBe(404)
  })
})

describe.runIf(hasChromium)('a named page in Chromium', () => {
  const { blank, serve, show } = openChromium()

  test('has badges of the networks that it shows the public, also for readers who see the others', async () => {
    const options = { token: new Secret(TOKEN), publicPage: PAGE }
    const setting = setUp({ realClock: systemClock, networks: NETWORKS, options })
    await setting.world.pollAll()
    const address = await serve(setting)
    const page = await blank()
    await page.addInitScript((held) => sessionStorage.setItem('heartline-token', held), TOKEN)

    const seen: number[] = []
    for (const path of [
      'networks/ethereum',
      'endpoints/ethereum/node',
      'networks/secret-net',
      'endpoints/secret-net/secret-node',
    ]) {
      await page.goto(`${address}/${path}`)
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.locator(DRAWN).waitFor()
      seen.push(await page.locator('.badges').count())
    }

    expect(seen).toEqual([1, 1, 0, 0])
  })

  test('keeps its name and logo when the browser draws it', async () => {
    const options = { publicPage: { ...PAGE, networks: null } }
    const setting = setUp({ realClock: systemClock, options })
    await setting.world.pollAll()

    const { page, complaints } = await show(await serve(setting))

    await page.getByRole('link', { name: 'Acme & sons' }).waitFor()
    expect(await page.title()).toBe('Acme & sons')
    await page.getByRole('link', { name: 'Observer' }).click()
    await expect.poll(() => page.title()).toBe('Observer · Acme & sons')
    expect(complaints).toEqual([])
  })
})
