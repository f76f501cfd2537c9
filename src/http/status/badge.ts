import type { FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { percent } from '../../../web/views/format.ts'
import { isUnstable, lookOf, type Marked, tally, toneOf } from '../../../web/views/model.ts'
import type { UnixMs } from '../../core/time.ts'
import { hidesHead } from '../../core/verdict/condition.ts'
import { networkState } from '../../core/verdict/network-state.ts'
import { type BoardNetwork, knownStanding, shownState } from '../../state/board.ts'
import type { IncidentLog } from '../../state/incident-log.ts'
import { sendKnown, tagOf } from '../negotiation.ts'
import { oneOf } from '../parameters.ts'
import { sendUnknown } from '../problem.ts'
import { type App, EndpointPath, NetworkPath, NOT_MODIFIED, operation, type RouteDeps, text } from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { endpointView } from '../status-views.ts'
import { escaped } from '../template-text.ts'
import type { Audience, EndpointView, StateView } from '../wire/status.ts'

/** Embedded badges may be slightly out of date. */
const CACHING = 'public, max-age=30'
const MAX_VERSION_LENGTH = 64
const Version = z
  .string()
  .max(MAX_VERSION_LENGTH)
  .optional()
  .describe('Any text: a new one bypasses caches of the picture')
const TYPES = ['state', 'availability', 'lag'] as const

/** `GET /badge.svg`, `/badge/:network.svg` and `/badge/:network/:endpoint.svg`: a state as a picture, to embed in other pages. */
export function registerBadge(
  app: App,
  { clock, scopes, title }: Pick<RouteDeps, 'clock'> & { readonly scopes: Scopes; readonly title: string },
): void {
  const route = operation({
    visibility: 'public',
    summary: 'One endpoint as a picture, to embed in other pages',
    params: EndpointPath,
    query: z.strictObject({
      type: oneOf(...TYPES)
        .optional()
        .describe('What it shows; default state'),
      v: Version,
    }),
    answers: {
      200: text(
        'SVG, with an `ETag`. Readers who may not see heights get `behind`, `forked` or `at head` for the lag',
        'image/svg+xml',
      ),
      304: NOT_MODIFIED,
    },
  })
  app.get('/badge/:network/:endpoint.svg', route, (request, reply) => {
    const { board, incidents } = scopes[request.audience]
    const entry = board.entry(request.params.network, request.params.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')
    const view = endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), request.audience)
    const network = board.network(request.params.network)
    const halted = network === undefined ? null : knownStanding(network, clock.now()).halted
    const of = { audience: request.audience, halted }
    const body = badgeSvg(badgeOf(request.query.type ?? 'state', view, of))
    return send(request, reply, body)
  })

  const networkRoute = operation({
    visibility: 'public',
    summary: 'One network as a picture, to embed in other pages',
    params: NetworkPath,
    query: z.strictObject({ v: Version }),
    answers: { 200: text('SVG, with an `ETag`', 'image/svg+xml'), 304: NOT_MODIFIED },
  })
  app.get('/badge/:network.svg', networkRoute, (request, reply) => {
    const { board, incidents } = scopes[request.audience]
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    const marked = markedOf(network, incidents, clock.now())
    const { title: label } = network.standing.network
    return send(request, reply, badgeSvg({ label, ...standingOf(marked.state, [marked]) }))
  })

  const wholeRoute = operation({
    visibility: 'public',
    summary: 'All networks as one picture, to embed in other pages',
    query: z.strictObject({ v: Version }),
    answers: { 200: text('SVG, with an `ETag`', 'image/svg+xml'), 304: NOT_MODIFIED },
  })
  app.get('/badge.svg', wholeRoute, (request, reply) => {
    const { board, incidents } = scopes[request.audience]
    const now = clock.now()
    const marked = board.networks().map((network) => markedOf(network, incidents, now))
    const state = networkState(marked.map((network) => network.state))
    return send(request, reply, badgeSvg({ label: title, ...standingOf(state, marked) }))
  })
}

function send(request: FastifyRequest, reply: FastifyReply, svg: string): FastifyReply {
  reply.headers({ 'cache-control': CACHING, 'cross-origin-resource-policy': 'cross-origin' })
  return sendKnown(request, reply, tagOf(svg)) ?? reply.type('image/svg+xml; charset=utf-8').send(svg)
}

/** Only what a badge shows: whole views of 300 endpoints took milliseconds. */
function markedOf(of: BoardNetwork, incidents: Pick<IncidentLog, 'of'>, now: UnixMs): Marked {
  const { halted, forked } = knownStanding(of, now)
  const endpoints = of.endpoints.map((entry) => {
    const incident = incidents.of(entry.health.endpoint)
    return { state: shownState(entry, now), flapping: incident?.flapping ?? false, incident: incident?.id ?? null }
  })
  const state = networkState(endpoints.map((endpoint) => endpoint.state))
  return { state, halted: halted === true, forked: forked === true, endpoints }
}

/** `up`, `2 of 3 up`, `unstable`, `halted`. */
function standingOf(state: StateView, networks: readonly Marked[]): Omit<Badge, 'label'> {
  const endpoints = networks.flatMap((network) => network.endpoints)
  const tone = toneOf(state, networks)
  // One network that is down does not put the others down.
  const isAlike = networks.every((network) => network.state === state)
  if (isAlike && state !== 'up' && state !== 'degraded') return { value: state, tone }
  if (networks.some(({ halted }) => halted)) return { value: 'halted', tone }
  if (networks.some(({ forked }) => forked)) return { value: 'forked', tone }
  const { up } = tally(endpoints)
  if (up < endpoints.length) return { value: `${up} of ${endpoints.length} up`, tone }
  return { value: tone === 'up' ? 'up' : 'unstable', tone }
}

/** With a lower coverage, a percentage would be misleading. */
const LEAST_COVERAGE = 0.5

interface Of {
  readonly audience: Audience
  /** Whether its chain is; `null` while no endpoint has a current head. */
  readonly halted: boolean | null
}

function badgeOf(type: (typeof TYPES)[number], view: EndpointView, of: Of): Badge {
  const { title, state } = view
  switch (type) {
    case 'state':
      return { label: title, value: isUnstable(view) ? 'unstable' : state, tone: lookOf(view) }
    case 'availability': {
      const { ratio, coverage } = view.availability['30d']
      if (ratio === null || coverage < LEAST_COVERAGE)
        return { label: `${title}, 30 d`, value: 'not enough data', tone: 'unknown' }
      return { label: `${title}, 30 d`, value: percent(ratio), tone: ratio >= 0.99 ? 'up' : 'degraded' }
    }
    case 'lag':
      return { label: `${title}, lag`, ...lagOf(view, of) }
  }
}

function lagOf({ heads, state, conditions }: EndpointView, { audience, halted }: Of): Omit<Badge, 'label'> {
  // The public may not see heights, but may see whether an endpoint lags.
  if (conditions.some(({ code }) => hidesHead(code)) || state === 'unknown')
    return { value: 'not known', tone: 'unknown' }
  if (conditions.some(({ code }) => code === 'forked')) return { value: 'forked', tone: state }
  const isBehind = conditions.some(({ code }) => code === 'lagging' || code === 'stalled')
  // A halted chain has no current head.
  const atHead = halted
    ? ({ value: 'chain halted', tone: 'degraded' } as const)
    : ({ value: 'at head', tone: 'up' } as const)
  if (audience === 'public') {
    if (halted === null || (state !== 'up' && state !== 'degraded')) return { value: 'not known', tone: 'unknown' }
    return isBehind ? { value: 'behind', tone: state } : atHead
  }
  const lags = heads.map(({ lag_blocks: lag }) => lag)
  if (lags.length === 0 || lags.includes(null)) return { value: 'not known', tone: 'unknown' }
  const most = Math.max(...lags.map((lag) => lag ?? 0))
  if (most === 0 && (halted || !isBehind)) return atHead
  const value = most === 0 ? 'at head again' : `${most} ${most === 1 ? 'block' : 'blocks'} behind`
  return { value, tone: isBehind ? (state === 'down' ? 'down' : 'degraded') : 'up' }
}

export interface Badge {
  readonly label: string
  readonly value: string
  readonly tone: StateView
}

/** Contrast with white text is at least 4.5:1 (WCAG AA). */
const COLOURS: Readonly<Record<StateView, string>> = {
  up: '#0d7a4a',
  degraded: '#945600',
  down: '#bd1c31',
  maintenance: '#2a5db5',
  unknown: '#626c79',
}
const HEIGHT = 20
const PADDING = 6
const MOST_LETTERS = 60

/** Draws a badge as a self-contained SVG, without script, font or style sheet. */
export function badgeSvg({ label, value, tone }: Badge): string {
  const left = Math.round(widthOf(shortened(label)) + 2 * PADDING)
  const right = Math.round(widthOf(shortened(value)) + 2 * PADDING)
  const width = left + right
  const text = (x: number, of: string) =>
    `<text x="${x}" y="14" textLength="${Math.round(widthOf(of))}" lengthAdjust="spacingAndGlyphs">${escaped(of)}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escaped(`${label}: ${value}`)}"><title>${escaped(`${label}: ${value}`)}</title><clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="${HEIGHT}" fill="#3d4550"/><rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[tone]}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">${text(PADDING, shortened(label))}${text(left + PADDING, shortened(value))}</g></svg>`
}

function shortened(text: string): string {
  const letters = Array.from(text)
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS - 1).join('')}…` : text
}

/** Approximate width in Verdana at 11 px; `textLength` makes other fonts fit. */
function widthOf(text: string): number {
  let width = 0
  for (const letter of text) {
    if (/[ijlI.,:;'|!]/.test(letter)) width += 4.2
    else if (/[mwMW%@]/.test(letter)) width += 10.6
    else if (/[A-Z]/.test(letter)) width += 7.8
    else width += letter.codePointAt(0) !== undefined && (letter.codePointAt(0) ?? 0) > 0x2e7f ? 11 : 6.8
  }
  return width
}
