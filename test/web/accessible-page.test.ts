import axe from 'axe-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { GatewayReport } from '../../src/gateway/service.ts'
import type { HistoryBucket } from '../../src/store/store.ts'
import { NETWORKS, NODE, OTHER, OWN, type Setting, setUp } from '../http/setting.ts'
import {
  complaintsOf,
  excessWidth,
  findingsInAllLooks,
  hasChromium,
  type Look,
  openChromium,
} from '../support/chromium.ts'
import { incident } from '../support/incident.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck } from '../support/network.ts'
import { aClusterReport, aPlace, DISAGREEING, putPlaces } from '../support/places.ts'
import type { WorldNetwork } from '../support/world.ts'

/** A member that shows its own view, and knows of others with other networks. */
const CLUSTER = aClusterReport({
  members: aClusterReport().members.map((member) => ({ ...member, differs: !member.isSelf })),
  store: { reachable: false, since: systemClock.now() - 60_000, spoolRows: 120, lagMs: null },
})

/** Ten minutes have few rows in the tables of an endpoint's charts, each of which axe reads. */
const UNTIL = Math.floor(systemClock.now() / 1000)
const TIME = `from=${UNTIL - 600}&to=${UNTIL}`

/** They list endpoints or networks, or say how many there are. */
const VIEWS_OF_ALL = [
  '/',
  '/networks/avalanche',
  '/networks/ethereum',
  '/incidents',
  '/gateway',
  '/observer',
  '/incidents/whole',
  `/endpoints/avalanche/own-1?${TIME}`,
]
/** They have long lists before they have filters. */
const VIEWS_OF_MORE = ['/', '/networks/ethereum']
/** They are the same pages for any number of endpoints. */
const VIEWS_OF_ONE = [
  `/endpoints/ethereum/node?${TIME}`,
  `/incidents/${incident().id}`,
  '/incidents/over',
  '/notifications',
  '/runbooks/lagging',
  '/nothing',
]
const KEYS = [...Array<string>(20).fill('Tab'), ...Array<string>(3).fill('Shift+Tab')]
const PATIENCE_MS = 240_000

// One browser for all sizes.
const browserForAll = hasChromium ? openChromium() : null

/** Over daemons that have everything to show: each state, open and closed incidents, a history with a gap. */
describe.runIf(hasChromium).each([
  [3, [...VIEWS_OF_ALL, ...VIEWS_OF_ONE]],
  [40, VIEWS_OF_MORE],
  [300, VIEWS_OF_ALL],
])('every view of %i endpoints', (many, views) => {
  const blank = (look: Look = {}) => browserForAll?.blank(look) ?? Promise.reject(new Error('no Chromium'))
  let setting: Setting
  let address: string

  beforeAll(async () => {
    setting = setUp({
      realClock: systemClock,
      store: { history },
      cluster: () => CLUSTER,
      gateway: () => gatewayOf(many),
      networks: fleetOf(many),
    })
    await fill(setting, many)
    address = `http://127.0.0.1:${(await setting.server.listen()).port}`
  })
  afterAll(() => setting?.server.close())

  test(
    'has no violation that axe finds, light and dark, on a screen and a phone',
    async () => {
      const page = await blank()
      // Sending it for each view takes more CPU time than having it there.
      await page.addInitScript({ content: axe.source })
      const complaints = complaintsOf(page, address)
      const found: Record<string, readonly string[]> = {}

      for (const path of views) {
        await page.goto(address + path)
        // A page that says that there is nothing has no events to be live by.
        await page.waitForSelector(path === '/nothing' ? 'h1' : '.lamp.on')
        const findings = await findingsInAllLooks(page)
        if (findings.length > 0) found[path] = findings
      }

      expect(found).toEqual({})
      const isMissing = /404 \(Not Found\)/
      expect(complaints.filter((one) => !isMissing.test(one))).toEqual([])
      expect(complaints.filter((one) => isMissing.test(one)).length).toBe(views.includes('/nothing') ? 1 : 0)
    },
    PATIENCE_MS,
  )

  test(
    'is readable without scripts, on a screen and a phone',
    async () => {
      const page = await blank({ scripts: false })

      for (const path of views) {
        await page.goto(address + path)
        expect(await page.locator('h1').innerText()).not.toBe('')
        // 320 px are a screen of 1280 at 400 %.
        for (const width of [320, 390, 1280]) {
          await page.setViewportSize({ width, height: 800 })
          expect([path, await excessWidth(page)]).toEqual([path, []])
        }
      }
    },
    PATIENCE_MS,
  )

  test(
    'shows which element has the focus, from the first to the last key press',
    async () => {
      const page = await blank()

      for (const path of views) {
        await page.goto(address + path)
        await page.waitForSelector(path === '/nothing' ? 'h1' : '.lamp.on')
        await page.evaluate(noteUnseenFocus)
        for (const key of KEYS) await page.keyboard.press(key)
        const noted = await page.evaluate(() => (globalThis as unknown as Noting).noted)
        expect([path, noted]).toEqual([path, { keys: KEYS.length, unseen: [] }])
      }
    },
    PATIENCE_MS,
  )
})

test.runIf(hasChromium)('axe reads the first row of each kind, wherever it is', async () => {
  const page = await browserForAll?.blank()
  const rows = Array.from({ length: 30 }, (_, at) => `<tr><td${at === 29 ? ' class="faint"' : ''}>${at}</td></tr>`)
  const style = '<style>.faint { color: #ddd }</style>'
  await page?.setContent(
    `<!doctype html><html lang="en"><title>Rows</title>${style}<main><h1>Rows</h1><table>${rows.join('')}</table></main></html>`,
  )

  const faint = expect.stringMatching(/^color-contrast: <td class="faint">29/)
  expect(page && (await findingsInAllLooks(page))).toEqual([faint, faint])
})

test.runIf(hasChromium)(
  'an id that two rows have is found, though axe does not read both, and no row is lost',
  async () => {
    const page = await browserForAll?.blank()
    const rows = [1, 2, 3, 3].map((id) => `<tr id="row-${id}"><td>1</td></tr>`)
    await page?.setContent(
      `<!doctype html><html lang="en"><title>Rows</title><main><h1>Rows</h1><table>${rows.join('')}</table></main></html>`,
    )

    const twice = 'more than one element is #row-3'
    expect(page && (await findingsInAllLooks(page))).toEqual([twice, twice])
    const left = await page?.locator('tr').evaluateAll((all) => all.map(({ id }) => id))
    expect(left).toEqual(['row-1', 'row-2', 'row-3', 'row-3'])
  },
)

interface Noting {
  noted: { keys: number; readonly unseen: string[] }
}

/** Runs in the page: after each key, notes the focused element if a user cannot see that it is focused. */
function noteUnseenFocus(): void {
  const noted: Noting['noted'] = { keys: 0, unseen: [] }
  Object.assign(globalThis, { noted })
  addEventListener(
    'keyup',
    ({ key }) => {
      if (key !== 'Tab') return
      noted.keys++
      const element = document.activeElement
      if (element === null || element === document.body) return
      const { left, right, top, bottom, width, height } = element.getBoundingClientRect()
      const isInView = width > 0 && height > 0 && right > 0 && left < innerWidth && bottom > 0 && top < innerHeight
      // The parts of a field for a time have a ring of their own.
      const hasRing = getComputedStyle(element).outlineStyle !== 'none' || element.matches('[type=datetime-local]')
      if (!isInView || !hasRing) noted.unseen.push(element.outerHTML.slice(0, 120))
    },
    { capture: true },
  )
}

/** A gateway in front of all of them, with one excluded in each network, and one left alone after failures. */
function gatewayOf(many: number): GatewayReport {
  const networks = fleetOf(many).map(({ network: { name }, endpoints }) => ({
    name,
    endpoints: endpoints.map((of, at) => ({
      endpoint: of.name,
      tier: of.tier,
      excluded: at === 1 ? ('lagging' as const) : null,
      breaker: at === 2 ? ('open' as const) : ('closed' as const),
      latencyMs: at === 1 ? null : 12.5,
      inFlight: at,
    })),
  }))
  const caller = { name: 'wallet', networks: ['avalanche'], admin: true, methods: ['eth_call'], rateLimit: null }
  const alias = { network: 'avalanche', alias: 'weekly', target: `C-${'a1b2c3d4'.repeat(10)}`, endpoint: 'own-2' }
  return {
    requestsInFlight: 1,
    callers: [{ ...caller, requests: 7, rejected: 1 }],
    networks,
    aliases: [{ ...alias, caller: 'wallet', nodeId: 'NodeID-x', at: systemClock.now(), stale: null }],
  }
}

/** The usual three, with as many more as needed, in twelve networks. */
function fleetOf(many: number): readonly WorldNetwork[] {
  if (many === NETWORKS.flatMap(({ endpoints }) => endpoints).length) return NETWORKS
  const [avalanche, ethereum] = NETWORKS as [WorldNetwork, WorldNetwork]
  const more = Array.from({ length: many - 3 }, (_, at) => at)
  const others = Array.from({ length: 10 }, (_, place) => {
    const name = `net-${place}`
    return {
      network: network({ name, title: `Network ${place}` }),
      endpoints: more
        .filter((at) => at % 12 === place + 2)
        .map((at) => endpoint(`node-${at}`, { network: name, title: `Archive node ${at}` })),
    }
  })
  const twin = (of: WorldNetwork, of12: number): WorldNetwork => ({
    ...of,
    endpoints: [
      ...of.endpoints,
      ...more
        .filter((at) => at % 12 === of12)
        .map((at) => ({ ...(of.endpoints[0] ?? NODE), name: `more-${at}`, title: `More ${at}` })),
    ],
  })
  return [twin(avalanche, 0), twin(ethereum, 1), ...others]
}

async function fill({ world, incidents, server }: Setting, many: number): Promise<void> {
  await world.pollAll()
  const failing = nodeCheck('bls', { contiguousFailures: 5 })
  for (let poll = 0; poll < 2; poll++) {
    await world.poll(OWN, { liveness: good(liveness(systemClock.now(), { checks: [failing] })) })
    await world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
  }
  await world.poll(OTHER, { heads: [{ shard: null, outcome: good(head(1001, systemClock.now())) }] })
  putPlaces(world.board, NODE, [...DISAGREEING, aPlace('syd1', { state: 'unknown', counted: false })], 1)
  incidents.put(incident({ openedAt: systemClock.now() - 90_000 }))
  incidents.put(
    incident({
      id: 'over',
      endpoint: OTHER.name,
      openedAt: systemClock.now() - 1_200_000,
      closedAt: systemClock.now() - 1_080_000,
    }),
  )
  const affected = fleetOf(many)[0]?.endpoints.map(({ name }) => name) ?? []
  const whole = { endpoint: null, cause: 'halted', state: 'degraded', affected } as const
  incidents.put(incident({ id: 'whole', openedAt: systemClock.now() - 120_000, ...whole }))
  const payload = { network: 'avalanche', endpoint: OWN.name, duration_seconds: 28_800, reason: 'the disk' }
  const { statusCode } = await server.inject({ method: 'POST', url: '/api/v1/silences', payload })
  expect(statusCode).toBe(201)
}

const history = async ({ from, to, stepMs }: { from: number; to: number; stepMs: number }): Promise<HistoryBucket[]> =>
  Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => bucket(from + at * stepMs, stepMs, at))

/** Of every eight: one unknown, one down, one degraded, one in maintenance. */
function bucket(start: number, widthMs: number, at: number): HistoryBucket {
  const of = (place: number) => (at % 8 === place ? widthMs : 0)
  return {
    start,
    upMs: at % 8 < 4 ? widthMs : 0,
    downMs: of(4),
    degradedMs: of(5),
    maintenanceMs: of(6),
    unknownMs: of(7),
    latencyP50Ms: 10,
    latencyP95Ms: 20 + at,
    latencyMaxMs: 300,
    polls: 60,
    height: 1000 + at,
    lagBlocksMax: at % 5,
    heartbeatLagMaxMs: 1000 * (at % 9),
    contiguousFailuresMax: at % 3,
  }
}
