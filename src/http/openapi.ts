import { componentSchemas, reference, type SchemaName } from './openapi-schemas.ts'

/** The OpenAPI 3.1 description; its schemas are those that the answers are made by. */
export function openApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Heartline',
      version,
      description:
        'Times are RFC 3339 UTC, durations seconds, ratios 0 to 1. What is not known is null. Where a token is configured, ' +
        'readers without it see names, states, times, availability and the codes of conditions only: heads, observer reasons and the ' +
        'samples of incidents are empty, liveness and latency are null, and messages say what the code means in general.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths: PATHS,
    components: {
      schemas: componentSchemas(),
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'server.token of the configuration' } },
    },
  }
}

const network = pathParameter('network')
const endpoint = pathParameter('endpoint')
const incident = pathParameter('id')
const name = { pattern: '^[a-z0-9-]{1,64}$' }

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
  '/api/v1/networks/{network}/blocks': get(
    'Which of the last blocks who was seen to have, and when: as sharp as the endpoints are polled often',
    [network],
    {
      200: json('Blocks', 'The last 60 blocks of each shard, fewer where it has more than a hundred endpoints'),
      400: problem('A parameter is wrong; `errors` names each'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
    },
  ),
  '/api/v1/networks/{network}/routing': get(
    'Whom the gateway would ask now, and why not the others; where there is none, whom one would ask',
    [network],
    {
      200: json('Routing', 'In the order in which they would be asked, then those left out'),
      400: problem('A parameter is wrong; `errors` names each'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
    },
  ),
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
  '/api/v1/endpoints/{network}/{endpoint}/polls': get(
    'The single polls of a time, where they are still kept',
    [
      network,
      endpoint,
      queryParameter('from', 'RFC 3339 or Unix seconds; default an hour before `to`', {}),
      queryParameter('to', 'RFC 3339 or Unix seconds; default now; at most a day after `from`', {}),
    ],
    {
      200: json('Polls', 'At most 2,000 of them, in the order of time; `next_from` leads to those after them'),
      400: problem('A parameter is wrong; `errors` names each'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
      503: problem('The polls cannot be read now'),
    },
  ),
  '/api/v1/endpoints/{network}/{endpoint}/rules': get(
    'How an endpoint is polled, and by what it is judged',
    [network, endpoint],
    {
      200: json('Rules', 'As the configuration has it'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
    },
  ),
  '/api/v1/strips': get(
    'The last hours of every endpoint in quarters of an hour, small enough for an overview; read again every minute at most',
    [queryParameter('hours', 'So many; default 24', { type: 'integer', minimum: 1, maximum: 24 })],
    {
      200: json('Strips', 'A letter a cell, and what was seen in it; the last cell is not over yet. `ETag` names it'),
      304: { description: 'What `If-None-Match` names is still the answer' },
      400: problem('A parameter is wrong; `errors` names each'),
      503: problem('The history cannot be read now'),
    },
  ),
  '/api/v1/incidents': get(
    'What went wrong, the newest first; endpoint incidents that are part of a network-wide one are not listed by themselves',
    [
      queryParameter('network', 'Only of this network. A name that is not configured (any more) is no error', name),
      queryParameter('endpoint', 'Only of endpoints of this name, likewise', name),
      queryParameter('open', 'Only those that are open, or only those that are closed', { enum: ['true', 'false'] }),
      queryParameter('limit', 'At most so many; default 50', { type: 'integer', minimum: 1, maximum: 200 }),
      queryParameter('cursor', 'The `next_cursor` of the page before', {}),
      queryParameter(
        'part_of',
        'Only those that are part of this network-wide incident, which are not listed otherwise',
        {},
      ),
    ],
    {
      200: json('IncidentList', 'One page; `next_cursor` leads to the next, with the same other parameters'),
      400: problem('A parameter is wrong; `errors` names each'),
    },
  ),
  '/api/v1/incidents/{id}': get('One incident, with its course', [incident], {
    200: {
      description: 'The incident; as a post-mortem in plain text where `Accept` prefers `text/plain`',
      content: {
        'application/json': { schema: reference('Incident') },
        'text/plain': { schema: { type: 'string' } },
      },
    },
    404: problem('No such incident is known'),
  }),
  '/api/v1/incidents/{id}.txt': get('One incident as a post-mortem in plain text', [incident], {
    200: text('What, who, when, how long, why, and what was measured before, during and after'),
    404: problem('No such incident is known'),
  }),
  '/badge/{network}/{endpoint}.svg': get(
    'One endpoint as a picture, for other pages',
    [
      network,
      endpoint,
      queryParameter('type', 'What it shows; default state', { enum: ['state', 'availability', 'lag'] }),
    ],
    {
      200: {
        description: 'SVG; `ETag` names it. To whom heights are not told the lag is `behind` or `at head`',
        content: { 'image/svg+xml': { schema: { type: 'string' } } },
      },
      304: { description: 'What `If-None-Match` names is still the badge' },
      400: problem('A parameter is wrong; `errors` names each'),
      404: unknown(),
    },
  ),
  '/feed.xml': get('The newest 50 incidents as an Atom feed', [], {
    200: {
      description: 'Atom 1.0 (RFC 4287); `ETag` names it',
      content: { 'application/atom+xml': { schema: { type: 'string' } } },
    },
    304: { description: 'What `If-None-Match` names is still the feed' },
  }),
  '/api/v1/gateway': get(
    'Who uses the gateway, whom it would ask now and why not the others, what it has done since the start, and the aliases that it knows; names alone',
    [],
    {
      200: json('Gateway', 'The gateway; `enabled` is false where there is none'),
      401: problem('The token is missing or wrong'),
    },
  ),
  '/api/v1/observer': get(
    'How Heartline itself is: event loop, schedule, clock, configuration and store, and what happened to it, so that a gap explains itself',
    [],
    {
      200: json('OwnHealth', 'Heartline itself'),
      401: problem('The token is missing or wrong'),
    },
  ),
  '/api/v1/events': get(
    'The status and the incidents, live',
    [
      {
        ...queryParameter('Last-Event-ID', 'The last event seen: what was missed since is told first', {}),
        in: 'header',
      },
    ],
    {
      200: {
        description:
          'Server-sent events `status` (`StatusEvent`): the first is complete, the others hold the networks and endpoints that ' +
          'changed, to be put in the place of those of the same name, and the maintenance if the plan did; every five seconds at ' +
          'least there is one, without changes if there are none. And `incident` (`IncidentSummary`): one incident as it stands ' +
          'now, after each change, those that are part of another too; after a complete `status` come all that are open.',
        content: {
          'text/event-stream': { schema: { oneOf: [reference('StatusEvent'), reference('IncidentSummary')] } },
        },
      },
      503: problem('Too many listen already'),
    },
  ),
  '/metrics': get('Metrics for Prometheus', [], {
    200: metrics('The metrics; docs/metrics.md lists them'),
    401: problem('The token is missing or wrong'),
  }),
  '/probe': get(
    'Polls one endpoint now, beside the schedule, within `X-Prometheus-Scrape-Timeout-Seconds` (default 10) less half a second',
    [
      { ...queryParameter('target', 'NETWORK/ENDPOINT, by their names in the configuration', {}), required: true },
      queryParameter('debug', 'Tell every step and the redacted answers, for people', { enum: ['true', 'false'] }),
    ],
    {
      200: metrics('The metrics of that endpoint as this poll alone found it'),
      400: problem('A parameter is wrong; `errors` names each'),
      401: problem('The token is missing or wrong'),
      404: unknown(),
      503: problem('It was not asked: too many polls are under way, or the node wants to be left alone'),
    },
  ),
  '/sd': get('Every endpoint as a target of `/probe`, for Prometheus HTTP service discovery', [], {
    200: {
      description: 'One target group an endpoint',
      content: {
        'application/json': {
          schema: {
            type: 'array',
            items: {
              type: 'object',
              required: ['targets', 'labels'],
              properties: {
                targets: { type: 'array', items: { type: 'string' } },
                labels: { type: 'object', additionalProperties: { type: 'string' } },
              },
            },
          },
        },
      },
    },
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

function json(name: SchemaName, description: string): object {
  return { description, content: { 'application/json': { schema: reference(name) } } }
}

function problem(description: string): object {
  return { description, content: { 'application/problem+json': { schema: reference('Problem') } } }
}

function unknown(): object {
  return problem('There is no such thing in the configuration')
}

function metrics(description: string): object {
  const schema = { type: 'string' }
  return { description, content: { 'text/plain': { schema }, 'application/openmetrics-text': { schema } } }
}

function text(description: string): object {
  return { description, content: { 'text/plain': { schema: { type: 'string' } } } }
}
