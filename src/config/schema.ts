import * as z from 'zod'
import * as address from './addresses.ts'
import { labelName, MOST_LABELS, network, pollKeys } from './network-schema.ts'
import { notify } from './notify-schema.ts'
import * as s from './scalars.ts'
import { atLeastOne, endpointNames, list, mapping, networkNames, section } from './schema-parts.ts'

/** Every key of the configuration file: type, unit, default and description. */

const serverTls = (listener: string) =>
  mapping(`Serves HTTPS on ${listener}. Both files are read again on reload.`, {
    cert: s.file({ description: 'PEM file with the certificate and its chain.' }),
    key: s.file({ description: 'PEM file with the private key.' }),
  }).optional()

const caller = mapping('A client of the gateway.', {
  name: s.callerName({ description: 'Its name in logs, metrics and on the page. Unique.' }),
  endpoint_id: s.endpointId({
    description:
      'The credential: the first path segment after the network. 16 to 128 characters of A-Z a-z 0-9 . _ ~ -',
  }),
  networks: networkNames('The networks it may use.'),
  admin: s.flag({ description: 'May call admin.alias if `gateway.admin` is true as well.' }).prefault(false),
  rate_limit: mapping('Maximum rate of requests; each element of a batch counts.', {
    requests: s.whole({ description: 'Number of requests …' }, 1, 1e9),
    per: s.duration({ description: '… per this time.' }, { max: '1d' }),
  }).optional(),
  methods: list(s.allowedMethod({ description: 'A method.' }), {
    description:
      'Methods beyond the default list; `*` is allowed as a suffix. `*` alone allows all but those that control a node: docs/gateway.md.',
    defaultText: 'none',
  }).default([]),
  cors: list(address.origin({ description: 'An origin.' }), {
    description: 'Origins whose pages may call from a browser; `*` allows any. Such a page can read the endpoint_id.',
    defaultText: 'none',
  }).default([]),
})

const maintenance = mapping('A planned window: either `schedule` and `duration`, or `from` and `until`.', {
  name: s.title({ description: 'Shown to people. Unique.' }),
  networks: networkNames('Networks in maintenance.'),
  endpoints: endpointNames('Endpoints of these networks in maintenance.'),
  schedule: s
    .cron({
      description:
        'Cron pattern of its starts. If it has both a day of the month and a day of the week, both must match.',
      defaultText: 'none',
    })
    .optional(),
  duration: s.duration({ description: 'Length of each window.', defaultText: 'none' }, { max: '30d' }).optional(),
  timezone: s.timeZone({ description: 'The time zone of `schedule`.', defaultText: '`UTC`' }).optional(),
  from: s.instant({ description: 'Start of a single window.', defaultText: 'none' }).optional(),
  until: s.instant({ description: 'End of a single window.', defaultText: 'none' }).optional(),
})

const announcement = mapping('A notice at the top of every page, also for readers without the token.', {
  text: s.announcement({ description: 'Plain text.' }),
  links: list(
    mapping('A link.', {
      text: s.title({ description: 'What readers see.' }),
      url: address.link({
        description: 'Where it leads: an http(s) URL, or a path of this page such as `/incidents`.',
      }),
    }),
    { description: 'Links after the text.', defaultText: 'none' },
  ).default([]),
  from: s.instant({ description: 'Shown from this time on.', defaultText: 'at once' }).optional(),
  until: s.instant({ description: 'Shown until this time.', defaultText: 'until it is removed' }).optional(),
})

export const ConfigFile = z.strictObject(
  {
    server: section("The daemon's own HTTP: page, API, metrics.", {
      listen: address
        .listen({ description: 'Address to listen on; port 0 means any free port.' })
        .prefault('127.0.0.1:9780'),
      token: s
        .token({
          description:
            'Without a token everything on this listener is readable; with a token the private parts need `Authorization: Bearer`.',
          defaultText: 'none',
        })
        .optional(),
      public: s
        .flag({
          description:
            'With a token: whether the page is readable without it (names and states only, never URLs or raw errors).',
        })
        .prefault(true),
      hosts: list(address.host({ description: 'A host name or IPv4 address, without port.' }), {
        description:
          'Without a token: further names and addresses to answer for. All requests with another `Host` than these, a loopback name or an address of this listener get 421, which protects against DNS rebinding.',
      }).prefault([]),
      tls: serverTls('`server.listen`'),
      public_url: address
        .publicUrl({
          description:
            'URL of the page for people, for links in messages. The page works only at the root of a host: behind a path there must be a redirect to it, which keeps the rest.',
          defaultText: 'none',
        })
        .optional(),
      grafana_url: address
        .publicUrl({
          description: 'URL of a Grafana with the dashboards of `grafana/dashboards`; charts link to it.',
          defaultText: 'none',
        })
        .optional(),
      public_page: section('The page as others see it.', {
        title: s
          .title({ description: 'Shown on every page in place of the name of the program.', defaultText: 'Heartline' })
          .optional(),
        logo: s
          .file({ description: 'SVG file, shown beside the title.', defaultText: 'the pulse of Heartline' })
          .optional(),
        networks: networkNames('The only networks that are shown without the token, on the page and in the API.'),
      }),
    }),
    store: section('The history.', {
      path: s
        .file({
          description:
            'The SQLite file; `":memory:"` keeps the history only while the daemon runs. With `url`: where rows wait while the database is away.',
          defaultText: '`heartline.db`; with `url` none: they wait in memory',
        })
        .optional(),
      url: address
        .databaseUrl({
          description: 'A PostgreSQL database, version 15 or later, that holds the history instead of a file.',
          defaultText: 'none',
        })
        .optional(),
      retention: section('How long each resolution is kept.', {
        raw: s.duration({ description: 'Every poll.' }).prefault('48h'),
        five_minutes: s.duration({ description: 'Five-minute buckets.' }).prefault('30d'),
        hour: s.duration({ description: 'Hourly buckets.' }).prefault('2y'),
      }),
      max_size: s
        .size(
          {
            description: 'The oldest rows are deleted early if the file would grow beyond this size; at least 256KiB.',
          },
          // An empty database has 160 KB.
          { min: '256KiB' },
        )
        .prefault('10GiB'),
    }),
    cluster: mapping('Several daemons that share the database of `store.url` and its networks.', {
      vantage: s
        .name({ description: 'The place that this daemon polls from. Daemons of one place share its work.' })
        .prefault('default'),
      quorum: s
        .quorum({
          description:
            'How many places must see an endpoint down before it counts as down; `majority` is at least two of several.',
        })
        .prefault('majority'),
      lease: s
        .duration(
          {
            description: 'After this time without a sign of life, another daemon polls the networks of this one.',
            defaultText: '`15s`, at least three intervals of the slowest endpoint',
          },
          { min: '2s', max: '1d' },
        )
        .optional(),
    }).optional(),
    poll: section('Polling.', {
      interval: pollKeys.interval.prefault('15s'),
      retry_interval: pollKeys.retry_interval.optional(),
      timeout: pollKeys.timeout.optional(),
      liveness_interval: pollKeys.liveness_interval.optional(),
      concurrency: pollKeys.concurrency.prefault(256),
      concurrency_per_host: pollKeys.concurrency_per_host.optional(),
    }),
    networks: atLeastOne('network', network, { description: 'The monitored blockchains.' }),
    gateway: section('The health-aware gateway.', {
      enabled: s.flag({ description: 'Whether it runs.' }).prefault(false),
      listen: address
        .listen({ description: 'Address to listen on; port 0 means any free port.' })
        .prefault('127.0.0.1:9781'),
      tls: serverTls('`gateway.listen`'),
      admin: s
        .flag({
          description:
            'admin.alias is refused unless this is true (or `--api-admin-enabled=true` is given) and the caller has `admin: true`.',
        })
        .prefault(false),
      public_url: address
        .publicUrl({
          description:
            'URL for callers, if a proxy is in front: the base URL of a network is `<public_url>/<network>`. The proxy may pass its path unchanged or remove it.',
          defaultText: 'none',
        })
        .optional(),
      callers: list(caller, { description: 'Its clients.', defaultText: 'none' }).default([]),
      cache: section('Cache of answers that can no longer change.', {
        max_size: s.size({ description: 'Maximum memory.' }).prefault('64MiB'),
      }),
      timeout: s
        .duration({ description: 'Deadline of one request, including all attempts.' }, { max: '10m' })
        .prefault('10s'),
      // The memory for incoming bodies. An eighth of it is for callers that hold little, if there are several.
      body_limit: s
        .size({ description: 'Maximum size of a request body; with several callers 56 MiB fit.' }, { max: '64MiB' })
        .prefault('1MiB'),
      batch_limit: s
        .whole({ description: 'Maximum number of requests in one JSON-RPC batch.' }, 1, 10_000)
        .prefault(100),
    }),
    metrics: section('What `/metrics` contains.', {
      sparse: s
        .flag({ description: 'Leave out states and conditions that are 0: see `docs/metrics.md`.' })
        .prefault(false),
      labels: list(labelName.meta({ description: 'A name of `networks[].endpoints[].labels`.' }), {
        description: 'Labels of endpoints that their metrics have too, as `label_NAME`: see `docs/metrics.md`.',
        defaultText: 'none',
      })
        .max(MOST_LABELS, { error: `expected at most ${MOST_LABELS} labels` })
        .default([]),
    }),
    notify,
    maintenance: list(maintenance, { description: 'Planned windows.', defaultText: 'none' }).default([]),
    announcements: list(announcement, { description: 'Notices for readers of the page.', defaultText: 'none' }).default(
      [],
    ),
    log: section('The log, on stderr.', {
      level: s
        .choice(['debug', 'info', 'warn', 'error'] as const, { description: 'Lowest level that is logged.' })
        .prefault('info'),
      format: s
        .choice(['json', 'pretty'] as const, { description: 'One JSON object per line, or text for people.' })
        .prefault('json'),
    }),
  },
  { error: 'expected a mapping with at least networks' },
)
export type ConfigFile = z.output<typeof ConfigFile>
