import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { percent } from '../../web/views/format.ts'
import type { Clock } from '../clock.ts'
import type { Board, BoardEntry } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { type Badge, badgeSvg } from './badge.ts'
import { isKnown } from './etag.ts'
import { readOneOf, readQuery } from './query.ts'
import { sendBadQuery, sendUnknown } from './status-routes.ts'
import { endpointView } from './status-views.ts'
import type { Audience, EndpointView } from './wire-status.ts'

export interface BadgeRouteDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'of'>
  readonly clock: Pick<Clock, 'now'>
}

const TYPES = ['state', 'availability', 'lag'] as const
type BadgeType = (typeof TYPES)[number]

const ENDING = '.svg'
/** Less of the time, and a percentage says more than is known. */
const ENOUGH = 0.5
/** What somebody else's page shows may be a little behind; what it shows for long must not be. */
const CACHING = 'public, max-age=30'

/** `GET /badge/:network/:endpoint.svg`: one endpoint as a picture, for pages of other people. */
export function registerBadge(app: FastifyInstance, { board, incidents, clock }: BadgeRouteDeps): void {
  app.get<{ Params: { network: string; file: string } }>(
    '/badge/:network/:file',
    { config: { visibility: 'public' } },
    (request, reply) => {
      const read = readQuery<{ type: BadgeType }>(request.query, { type: readOneOf(...TYPES) })
      if (!read.ok) return sendBadQuery(reply, read.errors)
      const { network, file } = request.params
      const entry: BoardEntry | undefined = file.endsWith(ENDING)
        ? board.entry(network, file.slice(0, -ENDING.length))
        : undefined
      if (entry === undefined) return sendUnknown(reply, 'endpoint')
      const view = endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), request.audience)
      const body = badgeSvg(badgeOf(read.values.type ?? 'state', view, request.audience))
      const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
      reply.headers({ etag, 'cache-control': CACHING, 'cross-origin-resource-policy': 'cross-origin' })
      if (isKnown(request, etag)) return reply.code(304).send()
      return reply.type('image/svg+xml; charset=utf-8').send(body)
    },
  )
}

function badgeOf(type: BadgeType, view: EndpointView, audience: Audience): Badge {
  const { title, state } = view
  switch (type) {
    case 'state':
      return { label: title, value: state, tone: state }
    case 'availability': {
      const { ratio, coverage } = view.availability['30d']
      if (ratio === null || coverage < ENOUGH)
        return { label: `${title}, 30 d`, value: 'not enough data', tone: 'unknown' }
      return { label: `${title}, 30 d`, value: percent(ratio), tone: ratio >= 0.99 ? 'up' : 'degraded' }
    }
    case 'lag':
      return { label: `${title}, lag`, ...lagOf(view, audience) }
  }
}

function lagOf({ heads, state, conditions }: EndpointView, audience: Audience): Omit<Badge, 'label'> {
  // Heights are not for the public; whether an endpoint lags is a state, and is.
  const isBehind = conditions.some(({ code }) => code === 'lagging' || code === 'stalled')
  if (audience === 'public') {
    if (state !== 'up' && state !== 'degraded') return { value: 'not known', tone: 'unknown' }
    return isBehind ? { value: 'behind', tone: state } : { value: 'at head', tone: 'up' }
  }
  const lags = heads.map(({ lag_blocks: lag }) => lag)
  if (lags.length === 0 || lags.includes(null)) return { value: 'not known', tone: 'unknown' }
  const most = Math.max(...lags.map((lag) => lag ?? 0))
  const value = most === 0 ? 'at head' : `${most} ${most === 1 ? 'block' : 'blocks'} behind`
  return { value, tone: isBehind ? (state === 'down' ? 'down' : 'degraded') : 'up' }
}
