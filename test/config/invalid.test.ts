import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblem } from '../../src/config/problem.ts'

const FOLDER = join(import.meta.dirname, 'invalid')

/** What `heartline check-config` says of each file, in full. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'no-networks': ['networks: required'],
  'empty-networks': ['networks: expected at least one network'],
  'not-a-mapping': ['expected a mapping with at least networks'],
  'section-not-a-mapping': ['store: expected a mapping'],
  'networks-not-a-list': ['networks: expected a list'],
  'cluster-without-url': ['cluster: needs store.url: the members of a cluster share a PostgreSQL database'],
  'cluster-quorum-zero': ['cluster.quorum: expected majority, or a whole number of places from 1 to 100'],
  'cluster-quorum-word': ['cluster.quorum: expected majority, or a whole number of places from 1 to 100'],
  'cluster-lease-too-short': [
    'cluster.lease: expected a duration such as 500ms, 15s, 2m, 48h or 90d, at least 2s and at most 1d',
  ],
  'cluster-lease-below-three-intervals': [
    'cluster.lease: expected at least 45 s, three intervals of the slowest endpoint',
  ],
  'cluster-vantage-name': ['cluster.vantage: expected 1 to 64 characters of a-z, 0-9 and -'],
  'store-url-not-postgres': ['store.url: expected a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE'],
  'store-url-memory-spool': [
    'store.path: with store.url, expected a file for the rows that wait while the database is away, or nothing',
  ],
  'no-endpoints': ['networks[0].endpoints: required'],
  'empty-endpoints': ['networks[0].endpoints: expected at least one endpoint'],
  'unknown-key': ['networks[0].interval: unknown key'],
  'unknown-top-level-key': ['alerts: unknown key'],
  'number-as-text': [
    'server.token: expected 1 to 512 visible ASCII characters (in quotes: YAML reads it as a number)',
    'networks[0].name: expected 1 to 64 characters of a-z, 0-9 and - (in quotes: YAML reads it as a number)',
    'networks[0].title: expected 1 to 100 characters on one line (in quotes: YAML reads it as a boolean)',
    'networks[0].endpoints[0].name: expected 1 to 64 characters of a-z, 0-9 and - (in quotes: YAML reads it as a number)',
  ],
  'merge-key': ['networks[1].*: << is no key of YAML 1.2: write out the keys, or use an alias for all of a value'],
  'unknown-family': ['networks[0].family: expected one of ethereum, avalanche, multiversx'],
  'duplicate-key': ['line 6, column 21: this key is given twice'],
  'not-utf8': ['line 4: is not UTF-8 text'],
  'yaml-syntax': ['line 3, column 1: wrong indentation'],
  'yaml-tab': ['line 2, column 1: a tab as indentation: use spaces'],
  'unknown-alias': ['an alias without its anchor (quote text that begins with *)'],
  'alias-of-itself': ['networks[0]: an alias that refers to itself'],
  'alias-bomb': ['nested too deeply, or too many aliases'],
  'two-documents': ['line 6, column 1: a second document: one file holds one configuration'],
  'unknown-tag': ['line 1, column 11: an unknown tag (quote text that begins with !)'],
  'proto-key': ['unknown key __proto__'],
  'missing-environment-variable': ['networks[0].endpoints[0].url: the environment variable ABSENT is not set'],
  'malformed-interpolation': [
    'networks[0].endpoints[0].url: expected ${NAME} or ${file:PATH} here; $${ is a literal ${',
  ],
  'missing-file': ['networks[0].endpoints[0].url: the file of ${file:…} cannot be read'],
  'file-is-a-folder': ['networks[0].endpoints[0].url: ${file:…} is not a regular file'],
  'duplicate-network-names': ['networks[1].name: the same as networks[0].name'],
  'duplicate-endpoint-names': ['networks[0].endpoints[1].name: the same as networks[0].endpoints[0].name'],
  'duplicate-hosts': ['networks[1].host: the same as networks[0].host'],
  'bad-host': ['networks[0].host: expected a host name such as avax.rpc.example.org, without scheme, port or path'],
  'server-hosts-with-port': [
    'server.hosts[0]: expected a host name such as avax.rpc.example.org, without scheme, port or path',
  ],
  'bad-network-name': ['networks[0].name: expected 1 to 64 characters of a-z, 0-9 and -'],
  'long-network-name': ['networks[0].name: expected 1 to 64 characters of a-z, 0-9 and -'],
  'bad-endpoint-name': ['networks[0].endpoints[0].name: expected 1 to 64 characters of a-z, 0-9 and -'],
  'explorer-url': ['networks[0].explorer_url: expected an http(s) URL without user, query or fragment'],
  'grafana-url': ['server.grafana_url: expected an http(s) URL without user, query or fragment'],
  'public-page-unknown-network': ['server.public_page.networks[0]: no network has this name'],
  'public-page-empty': ['server.public_page.networks: expected at least one network'],
  'public-page-logo-missing': ['server.public_page.logo: the file cannot be read'],
  'public-page-logo-not-svg': ['server.public_page.logo: the file holds no SVG picture'],
  'public-page-title': [
    'server.public_page.title: expected 1 to 100 characters on one line (in quotes: YAML reads it as a number)',
  ],
  'label-name': ['networks[0].endpoints[0].labels.Region: expected a label name: 1 to 32 characters of a-z, 0-9 and _'],
  'label-value': [
    'networks[0].endpoints[0].labels.rack: expected 1 to 64 characters on one line (in quotes: YAML reads it as a number)',
  ],
  'metrics-label-unknown': ['metrics.labels[1]: no endpoint has a label of this name'],
  'metrics-label-twice': ['metrics.labels[1]: the same as metrics.labels[0]'],
  'metrics-label-name': ['metrics.labels[0]: expected a label name: 1 to 32 characters of a-z, 0-9 and _'],
  'metrics-labels-too-many': ['metrics.labels: expected at most 8 labels'],
  'labels-too-many': ['networks[0].endpoints[0].labels: expected at most 8 labels'],
  'url-not-http': ['networks[0].endpoints[0].url: expected an http(s) URL without fragment'],
  'url-relative': ['networks[0].endpoints[0].url: expected an http(s) URL without fragment'],
  'url-with-fragment': ['networks[0].endpoints[0].url: expected an http(s) URL without fragment'],
  'url-missing': ['networks[0].endpoints[0].url: required'],
  'url-empty': ['networks[0].endpoints[0].url: expected an http(s) URL without fragment, found nothing'],
  'rpc-path-relative': [
    'networks[0].endpoints[0].rpc_path: expected a path that starts with /, without query or fragment',
  ],
  'header-name': ['networks[0].endpoints[0].headers.*: expected a header name'],
  'header-value-line-break': [
    'networks[0].endpoints[0].headers.x-api-key: expected a header value: visible ASCII on one line',
  ],
  'header-value-number': [
    'networks[0].endpoints[0].headers.x-api-key: expected a header value: visible ASCII on one line (in quotes: YAML reads it as a number)',
  ],
  'header-twice': ['networks[0].endpoints[0].headers.X-Api-Key: given twice (header names ignore case)'],
  'header-reserved': ['networks[0].endpoints[0].headers.Content-Length: is set by the daemon itself'],
  'beacon-url-not-ethereum': ['networks[0].endpoints[0].beacon_url: only ethereum has consensus nodes'],
  'beacon-url-without-liveness': [
    'networks[0].endpoints[0].beacon_url: needs the check liveness, which is not among the checks',
  ],
  'liveness-interval-zero': [
    'poll.liveness_interval: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 1d',
  ],
  'checks-empty': ['networks[0].endpoints[0].checks: expected at least one check'],
  'checks-unknown': ['networks[0].endpoints[0].checks[0]: expected one of liveness, head'],
  'checks-twice': ['networks[0].endpoints[0].checks[1]: the same as networks[0].endpoints[0].checks[0]'],
  'tier-unknown': ['networks[0].endpoints[0].tier: expected one of primary, fallback'],
  'shards-not-multiversx': ['networks[0].shards: only multiversx has shards'],
  'shards-empty': ['networks[0].shards: expected at least one shard'],
  'shards-twice': ['networks[0].shards[2]: the same as networks[0].shards[0]'],
  'shard-out-of-range': ['networks[0].shards[1]: expected a whole number from 0 to 4294967295'],
  'observer-without-shard': ['networks[0].endpoints[0].shard: required for an observer: the shard that it serves'],
  'shard-without-observer': ['networks[0].endpoints[0].shard: only an observer (kind: observer) has a shard'],
  'observer-of-another-shard': ['networks[0].endpoints[0].shard: is not among the shards of its network'],
  'kind-not-multiversx': ['networks[0].endpoints[0].kind: only multiversx has kinds of endpoints'],
  'shard-not-multiversx': ['networks[0].endpoints[0].shard: only multiversx has shards'],
  'rpc-path-multiversx': ['networks[0].endpoints[0].rpc_path: multiversx has no JSON-RPC: put the path into url'],
  'chain-id-multiversx': ['networks[0].chain_id: multiversx has no numeric chain id'],
  'chain-id-zero': ['networks[0].chain_id: expected a whole number from 1 to 9007199254740991'],
  'chain-id-too-large': ['networks[0].chain_id: expected a whole number from 1 to 9007199254740991'],
  'chain-id-hex-text': ['networks[0].chain_id: expected a whole number from 1 to 9007199254740991'],
  'lag-recover-not-below': ['networks[0].thresholds.lag_recover_blocks: expected to be less than lag_blocks'],
  'lag-down-not-above': ['networks[0].thresholds.lag_blocks_down: expected to be more than lag_blocks'],
  'lag-zero': ['networks[0].thresholds.lag_blocks: expected a whole number from 1 to 1000000000'],
  'fail-after-zero': ['networks[0].thresholds.fail_after: expected a whole number from 1 to 1000'],
  'recover-after-fraction': ['networks[0].thresholds.recover_after: expected a whole number from 1 to 1000'],
  'duration-without-unit': [
    'poll.interval: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 1d',
  ],
  'duration-unknown-unit': [
    'networks[0].thresholds.stall: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 100y',
  ],
  'duration-zero': [
    'networks[0].poll.interval: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 1d',
  ],
  'duration-negative': [
    'networks[0].thresholds.latency: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 100y',
  ],
  'duration-too-long': [
    'poll.interval: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 1d',
  ],
  'size-without-unit': ['store.max_size: expected a size such as 64KiB, 64MiB, 10GiB or 500MB, at least 256KiB'],
  'store-smaller-than-empty': ['store.max_size: expected a size such as 64KiB, 64MiB, 10GiB or 500MB, at least 256KiB'],
  'timeout-above-interval': ['poll.timeout: expected to be at most the interval'],
  'retry-interval-above-interval': ['poll.retry_interval: expected to be at most the interval'],
  'network-timeout-above-interval': ['networks[0].poll.timeout: expected to be at most the interval'],
  'concurrency-zero': ['poll.concurrency: expected a whole number from 1 to 65535'],
  'concurrency-per-host-above-all': ['poll.concurrency_per_host: expected to be at most concurrency'],
  'retention-raw-above-five-minutes': [
    'store.retention.five_minutes: expected to be at least as long as store.retention.raw',
  ],
  'retention-five-minutes-above-hour': [
    'store.retention.hour: expected to be at least as long as store.retention.five_minutes',
  ],
  'listen-without-port': ['server.listen: expected HOST:PORT such as 127.0.0.1:9780 or [::1]:9780'],
  'listen-port-out-of-range': ['server.listen: expected HOST:PORT such as 127.0.0.1:9780 or [::1]:9780'],
  'listen-bad-address': ['server.listen: expected HOST:PORT such as 127.0.0.1:9780 or [::1]:9780'],
  'listen-with-scheme': ['server.listen: expected HOST:PORT such as 127.0.0.1:9780 or [::1]:9780'],
  'listeners-collide': ['gateway.listen: the same as server.listen'],
  'token-with-blank': ['server.token: expected 1 to 512 visible ASCII characters'],
  'token-empty': ['server.token: expected 1 to 512 visible ASCII characters, found nothing'],
  'private-without-token': ['server.public: false needs server.token: without a token the page could not be read'],
  'flag-not-boolean': ['server.public: expected true or false'],
  'tls-key-without-cert': ['server.tls.cert: required', 'server.tls.key: the file cannot be read'],
  'tls-cert-missing': ['gateway.tls.cert: the file cannot be read', 'gateway.tls.key: the file cannot be read'],
  'tls-cert-no-certificate': ['server.tls.cert: the file holds no PEM certificate'],
  'tls-ca-missing': ['networks[0].endpoints[0].tls.ca: the file cannot be read'],
  'gateway-without-callers': ['gateway.callers: expected at least one caller: without one, every request is refused'],
  'endpoint-id-too-short': [
    'gateway.callers[0].endpoint_id: expected 16 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -',
  ],
  'endpoint-id-too-long': [
    'gateway.callers[0].endpoint_id: expected 16 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -',
  ],
  'endpoint-id-alphabet': [
    'gateway.callers[0].endpoint_id: expected 16 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -',
  ],
  'endpoint-id-twice': ['gateway.callers[1].endpoint_id: the same as gateway.callers[0].endpoint_id'],
  'caller-twice': ['gateway.callers[1].name: the same as gateway.callers[0].name'],
  'caller-unknown-network': ['gateway.callers[0].networks[1]: no network has this name'],
  'caller-no-networks': ['gateway.callers[0].networks: expected at least one network'],
  'rate-limit-without-per': ['gateway.callers[0].rate_limit.per: required'],
  'rate-limit-zero': ['gateway.callers[0].rate_limit.requests: expected a whole number from 1 to 1000000000'],
  'cors-with-path': [
    'gateway.callers[0].cors[0]: expected an origin such as https://app.example.org (scheme, host and perhaps a port, without a path), or *',
  ],
  'methods-post': [
    'gateway.callers[0].methods[0]: expected a method such as eth_call or eth_get*, a REST route such as "GET /address/*" (no POST), or * for all; * only at the end',
  ],
  'methods-inner-star': [
    'gateway.callers[0].methods[0]: expected a method such as eth_call or eth_get*, a REST route such as "GET /address/*" (no POST), or * for all; * only at the end',
  ],
  'public-url-not-http': ['gateway.public_url: expected an http(s) URL without user, query or fragment'],
  'body-limit-too-large': [
    'gateway.body_limit: expected a size such as 64KiB, 64MiB, 10GiB or 500MB, above 0 and at most 64MiB',
  ],
  'batch-limit-zero': ['gateway.batch_limit: expected a whole number from 1 to 10000'],
  'maintenance-neither': ['maintenance[0]: expected either schedule and duration, or from and until'],
  'maintenance-both': ['maintenance[0]: expected either schedule and duration, or from and until'],
  'maintenance-without-duration': ['maintenance[0].duration: schedule needs a duration'],
  'maintenance-without-until': ['maintenance[0].until: from needs an until'],
  'maintenance-without-from': ['maintenance[0].from: until needs a from'],
  'announcement-link-script': [
    'announcements[0].links[0].url: expected an http(s) URL without user, or a path that starts with one /',
    'announcements[0].links[1].url: expected an http(s) URL without user, or a path that starts with one /',
    'announcements[0].links[2].url: expected an http(s) URL without user, or a path that starts with one /',
  ],
  'announcement-until-before-from': ['announcements[0].until: expected to be later than from'],
  'maintenance-until-before-from': ['maintenance[0].until: expected to be later than from'],
  'maintenance-duration-with-from': ['maintenance[0].duration: belongs to schedule; from has until'],
  'maintenance-timezone-with-from': ['maintenance[0].timezone: belongs to schedule; from and until carry their offset'],
  'maintenance-time-without-offset': [
    'maintenance[0].from: expected a time with its offset such as 2026-12-01T03:00:00Z',
  ],
  'maintenance-no-such-day': ['maintenance[0].from: expected a time with its offset such as 2026-12-01T03:00:00Z'],
  'maintenance-bad-cron': ['maintenance[0].schedule: expected a cron pattern such as "0 3 * * 0"'],
  'maintenance-bad-time-zone': ['maintenance[0].timezone: expected a time zone such as UTC or Europe/Berlin'],
  'maintenance-unknown-network': ['maintenance[0].networks[0]: no network has this name'],
  'maintenance-unknown-endpoint': ['maintenance[0].endpoints[0]: no endpoint of these networks has this name'],
  'maintenance-twice': ['maintenance[1].name: the same as maintenance[0].name'],
  'notify-channel-type': [
    'notify.channels[0].type: expected one of webhook, alertmanager, slack, discord, teams, telegram, pagerduty, opsgenie, ntfy, email',
  ],
  'notify-channel-twice': ['notify.channels[1].name: the same as notify.channels[0].name'],
  'notify-key-missing': [
    'notify.channels[0].routing_key: required for pagerduty',
    'notify.channels[1].chat_id: required for telegram',
  ],
  'notify-key-of-another-type': ['notify.channels[0].topic: slack has no such key'],
  'notify-secret': ['notify.channels[0].secret: expected whsec_ and 24 to 64 bytes in base64'],
  'notify-urls-empty': ['notify.channels[0].urls: expected at least one URL'],
  'notify-chat-id': ['notify.channels[0].chat_id: expected a number such as -1001234567890, or @NAME'],
  'notify-topic': ['notify.channels[0].topic: expected 1 to 64 characters of A-Z, a-z, 0-9, _ and -'],
  'notify-smtp': ['notify.channels[0].smtp: expected a URL such as smtp://USER:PASSWORD@HOST:587 or smtps://HOST:465'],
  'notify-mail-address': ['notify.channels[0].to[0]: expected an address such as ops@example.org'],
  'notify-mail-to-empty': ['notify.channels[0].to: expected at least one address'],
  'notify-repeat-too-short': [
    'notify.channels[0].repeat: expected a duration such as 500ms, 15s, 2m, 48h or 90d, at least 1s and at most 100y',
  ],
  'notify-heartbeat-too-short': [
    'notify.heartbeat.every: expected a duration such as 500ms, 15s, 2m, 48h or 90d, at least 1s and at most 1d',
  ],
  'notify-rate-zero': ['notify.rate: expected a number from 1 to 10000, such as 30 or 30/min'],
  'notify-route-unknown-channel': ['notify.routes[0].channels[1]: no channel has this name'],
  'notify-route-unknown-network': ['notify.routes[0].networks[0]: no network has this name'],
  'notify-route-unknown-endpoint': ['notify.routes[0].endpoints[0]: no endpoint of these networks has this name'],
  'notify-route-unknown-provider': ['notify.routes[0].providers[0]: no endpoint has this provider'],
  'notify-route-gateway-keys': [
    'notify.routes[0].endpoints: is not possible together with `gateway: true`',
    'notify.routes[0].providers: is not possible together with `gateway: true`',
    'notify.routes[0].conditions: is not possible together with `gateway: true`',
    'notify.routes[0].states: is not possible together with `gateway: true`',
  ],
  'notify-tls-ca-missing': ['notify.channels[0].tls.ca: the file cannot be read'],
  'notify-route-empty-list': [
    'notify.routes[0].networks: expected at least one network',
    'notify.routes[1].endpoints: expected at least one endpoint',
    'notify.routes[2].conditions: expected at least one condition',
    'notify.routes[3].states: expected at least one state',
  ],
  'notify-quiet': ['notify.routes[0].quiet: expected hours and a time zone such as "22:00-07:00 Europe/Bucharest"'],
  'server-public-url': ['server.public_url: expected an http(s) URL without user, query or fragment'],
  'log-level-unknown': ['log.level: expected one of debug, info, warn, error'],
  'log-format-unknown': ['log.format: expected one of json, pretty'],
  'wrong-is-not-missing': [
    'server.token: expected 1 to 512 visible ASCII characters',
    'maintenance[0].from: expected a time with its offset such as 2026-12-01T03:00:00Z',
    'maintenance[0].until: expected a time with its offset such as 2026-12-01T03:00:00Z',
  ],
  'many-at-once': [
    'networks[0].endpoints[1].url: the environment variable ABSENT is not set',
    'server.listen: expected HOST:PORT such as 127.0.0.1:9780 or [::1]:9780',
    'networks[0].name: expected 1 to 64 characters of a-z, 0-9 and -',
    'networks[0].poll.interval: expected a duration such as 500ms, 15s, 2m, 48h or 90d, above 0 and at most 1d',
    'networks[0].endpoints[0].url: expected an http(s) URL without fragment',
    'network: unknown key',
    'server.public: false needs server.token: without a token the page could not be read',
    'networks[0].endpoints[1].name: the same as networks[0].endpoints[0].name',
  ],
}

describe('every rule has a file that breaks it, and says so', () => {
  test('the files and this table are the same set', () => {
    const files = readdirSync(FOLDER).map((file) => file.replace(/\.yaml$/, ''))

    expect(files.sort()).toEqual(Object.keys(EXPECTED).sort())
  })

  test.each(Object.entries(EXPECTED))('%s', (rule, messages) => {
    const result = loadConfig(join(FOLDER, `${rule}.yaml`), {})

    const said = result.ok ? [] : result.problems.map((problem) => formatProblem('heartline.yaml', problem))
    expect(said).toEqual(messages.map((message) => `heartline.yaml: ${message}`))
  })
})
