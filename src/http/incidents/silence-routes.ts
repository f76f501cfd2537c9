import * as z from 'zod'
import { LONGEST_SILENCE_MS, type Silence } from '../../core/incident/silence.ts'
import { time } from '../../core/time.ts'
import { line, NameParameter } from '../parameters.ts'
import { sendProblem, sendUnknown } from '../problem.ts'
import { type App, json, NoQuery, operation, problem, type RouteDeps, written } from '../route.ts'
import { SilencesView, SilenceView } from '../wire/silences.ts'

const LONGEST_SECONDS = LONGEST_SILENCE_MS / 1000
const DURATION_ERROR = { error: `must be a number of seconds from 1 to ${LONGEST_SECONDS} (30 days)` }

const NewSilence = z.strictObject({
  network: NameParameter,
  endpoint: NameParameter.nullable().optional().describe('Without it, the whole network'),
  duration_seconds: z.number(DURATION_ERROR).min(1, DURATION_ERROR).max(LONGEST_SECONDS, DURATION_ERROR),
  reason: line(200).describe('Shown to everyone with the token'),
})

/** Routes that list, begin and end silences. */
export function registerSilences(
  app: App,
  { silences, board, store, clock }: Pick<RouteDeps, 'silences' | 'board' | 'store' | 'clock'>,
): void {
  const listRoute = operation({
    visibility: 'private',
    summary: 'The silences that hold now',
    query: NoQuery,
    answers: { 200: json(SilencesView, 'The one that ends first comes first') },
  })
  app.get('/api/v1/silences', listRoute, () => silencesView(silences.active()))

  const newRoute = operation({
    visibility: 'private',
    summary: 'Begins a silence: no messages about a network or an endpoint; verdicts and history do not change',
    query: NoQuery,
    body: NewSilence,
    answers: {
      201: json(SilenceView, 'It holds'),
      404: problem('Not in the configuration'),
      409: problem('There are too many silences'),
      503: problem('It holds, but the store cannot be written now'),
    },
  })
  app.post('/api/v1/silences', newRoute, async (request, reply) => {
    const { network, endpoint = null, duration_seconds: seconds, reason } = request.body
    if (board.network(network) === undefined) return sendUnknown(reply, 'network')
    if (endpoint !== null && board.entry(network, endpoint) === undefined) return sendUnknown(reply, 'endpoint')
    const silence = silences.add({ network, endpoint, forMs: 1000 * seconds, reason })
    if (silence === null) return sendProblem(reply, { status: 409, detail: 'There are too many silences: end some.' })
    await written(store, clock)
    if (await silences.isStored(silence)) return reply.code(201).send(silenceView(silence))
    const detail = `The store cannot be written now: the silence ${silence.id} holds, but a restart may forget it.`
    return sendProblem(reply, { status: 503, detail })
  })

  const endRoute = operation({
    visibility: 'private',
    summary: 'Ends a silence',
    params: z.object({ id: z.string() }),
    query: NoQuery,
    answers: {
      200: json(SilenceView, 'It ended now'),
      403: problem('Not from this page, or not from this machine while there is no token'),
      404: problem('No silence of this id holds'),
      503: problem('It ended now, but the store cannot be written now'),
    },
  })
  app.delete('/api/v1/silences/:id', endRoute, async (request, reply) => {
    const silence = silences.end(request.params.id)
    if (silence === null) return sendProblem(reply, { status: 404, detail: 'No silence of this id holds.' })
    await written(store, clock)
    if (await silences.isStored(silence)) return reply.send(silenceView(silence))
    const detail = 'The store cannot be written now: the silence has ended, but may hold again after a restart.'
    return sendProblem(reply, { status: 503, detail })
  })
}

export function silencesView(silences: readonly Silence[]): SilencesView {
  return { silences: silences.map(silenceView) }
}

function silenceView({ id, network, endpoint, reason, from, until }: Silence): SilenceView {
  return { id, network, endpoint, reason, from: time(from), until: time(until) }
}
