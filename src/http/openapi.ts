import { z } from 'zod'
import {
  AvailabilityView,
  ConditionView,
  EndpointView,
  HeadView,
  HistoryBucketView,
  HistoryView,
  LivenessView,
  NetworkView,
  NodeCheckView,
  ObserverView,
  ProblemView,
  ReferenceHeadView,
  StateView,
  StatusEventView,
  StatusView,
} from './views.ts'

const SCHEMAS = {
  Status: StatusView,
  StatusEvent: StatusEventView,
  Network: NetworkView,
  Endpoint: EndpointView,
  History: HistoryView,
  HistoryBucket: HistoryBucketView,
  Condition: ConditionView,
  ReferenceHead: ReferenceHeadView,
  Head: HeadView,
  Liveness: LivenessView,
  NodeCheck: NodeCheckView,
  Availability: AvailabilityView,
  Observer: ObserverView,
  State: StateView,
  Problem: ProblemView,
}
type SchemaName = keyof typeof SCHEMAS

/** The OpenAPI 3.1 description; its schemas are those that the answers are made by. */
export function openApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Heartline',
      version,
      description:
        'Times are RFC 3339 UTC, durations seconds, ratios 0 to 1. What is not known is null. Where a token is configured, ' +
        'readers without it see names, states, availability and the codes of conditions only: heads and observer reasons are empty, ' +
        'liveness and latency are null, and messages say what the code means in general.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths: PATHS,
    components: {
      schemas: componentSchemas(),
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'server.token of the configuration' } },
    },
  }
}

function componentSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema as z.ZodType, { id })
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, id: _name, ...schema }]) => [id, schema]),
  )
}

const network = pathParameter('network')
const endpoint = pathParameter('endpoint')

const PATHS = {
  '/api/v1/status': get(
    'Everything that is known now',
    [
      queryParameter('fail_on', 'Answer 503 when the overall state is this bad, or worse', {
        enum: ['down', 'degraded'],
      }),
    ],
    {
      200: json('Status', 'The status; `ETag` names it'),
      304: { description: 'What `If-None-Match` names is still the status' },
      400: problem('A parameter is wrong; `errors` names each'),
      503: json('Status', 'The status, which is as bad as `fail_on` says'),
    },
  ),
  '/api/v1/networks/{network}': get('One network', [network], { 200: json('Network', 'The network'), 404: unknown() }),
  '/api/v1/endpoints/{network}/{endpoint}': get('One endpoint', [network, endpoint], {
    200: json('Endpoint', 'The endpoint'),
    404: unknown(),
  }),
  '/api/v1/endpoints/{network}/{endpoint}/history': get(
    'What was',
    [
      network,
      endpoint,
      queryParameter('from', 'RFC 3339 or Unix seconds; default 24 hours before `to`', {}),
      queryParameter('to', 'RFC 3339 or Unix seconds; default now', {}),
      queryParameter(
        'step',
        'Width of a bucket, like `30s`, `5m`, `1h`, `1d`, or seconds; default 5m, at most 2,000 buckets',
        {},
      ),
    ],
    {
      200: json('History', 'The buckets of the range'),
      400: problem('A parameter is wrong; `errors` names each'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
      503: problem('The history cannot be read now'),
    },
  ),
  '/api/v1/events': get(
    'The status, live',
    [
      {
        ...queryParameter('Last-Event-ID', 'The last event seen: what was missed since is told first', {}),
        in: 'header',
      },
    ],
    {
      200: {
        description:
          'Server-sent events `status`. The first is complete, the others hold the networks and endpoints that changed, to be ' +
          'put in the place of those of the same name; every five seconds at least there is one, without changes if there are none.',
        content: { 'text/event-stream': { schema: reference('StatusEvent') } },
      },
      503: problem('Too many listen already'),
    },
  ),
  '/metrics': get('Metrics in the Prometheus text format 0.0.4', [], {
    200: text('The metrics; docs/metrics.md lists them'),
    401: problem('The token is missing or wrong'),
  }),
  '/openapi.json': get('This description', [], {
    200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
  }),
  '/-/healthy': get('Whether the process runs', [], { 200: text('It does') }),
  '/-/ready': get('Whether the store is open and the first round of polls is done', [], {
    200: text('Ready'),
    503: text('Not yet, or stopping'),
  }),
}

function get(summary: string, parameters: readonly object[], responses: Record<number, object>): object {
  return { get: { summary, parameters, responses, security: [{}, { token: [] }] } }
}

function pathParameter(name: string): object {
  return { name, in: 'path', required: true, schema: { type: 'string' } }
}

function queryParameter(name: string, description: string, schema: object): object {
  return { name, in: 'query', required: false, description, schema: { type: 'string', ...schema } }
}

function reference(name: SchemaName): object {
  return { $ref: `#/components/schemas/${name}` }
}

function json(name: SchemaName, description: string): object {
  return { description, content: { 'application/json': { schema: reference(name) } } }
}

function problem(description: string): object {
  return { description, content: { 'application/problem+json': { schema: reference('Problem') } } }
}

function unknown(): object {
  return problem('There is no such thing in the configuration')
}

function text(description: string): object {
  return { description, content: { 'text/plain': { schema: { type: 'string' } } } }
}
