import { afterAll, afterEach, beforeAll, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain, type SimulatedChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { serveHttp } from '../support/http-server.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'

/** Each address is a host of its own, so that one that fails is not Heartline's own network. */
const HOSTS = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const
export const NAMES = ['a', 'b', 'c'] as const
export const INTERVAL_MS = 1000
export const LEASE_MS = 3000
/** What a busy machine adds to a poll, or to a takeover. */
export const SLACK_MS = 4000
export const VANTAGES = ['fra1', 'nyc1', 'sin1'] as const

/** PostgreSQL and the nodes, for the tests of a file: after each of them its members stop, and all nodes are well. */
export function openCluster(vantages: readonly string[] = VANTAGES) {
  const skip = !hasPostgres()
  let server: PostgresServer
  let nodes: Nodes
  beforeAll(async () => {
    if (skip) return
    server = await startPostgres()
    nodes = await startNodes(vantages)
  })
  afterEach(async () => {
    await stopMembers()
    for (const vantage of vantages) for (const name of NAMES) nodes?.of(vantage, name).heal()
  })
  afterAll(async () => {
    await nodes?.stop()
    await server?.remove()
  })

  /** As the superuser, in the database of the URL, wherever the server listens by now. */
  const run = (text: string, url: string) =>
    server.run(text, `postgres://postgres@127.0.0.1:${server.port}${new URL(url).pathname}`)

  /** Who has claimed the polls of the network, oldest first; `at` in milliseconds. */
  async function claimsOf(url: string): Promise<{ token: number; member: string; at: number }[]> {
    const rows = await run(
      `SELECT token, member, floor(extract(epoch FROM claimed_at) * 1000)::float8 AS at FROM lease_claims
       WHERE kind = 'poll' AND network = 'net' ORDER BY token`,
      url,
    )
    return rows.map(({ token, member, at }) => ({ token: Number(token), member: String(member), at: Number(at) }))
  }

  /** From now on, each row that reaches these tables is noted with the member that wrote it. */
  async function noteWrites(url: string): Promise<void> {
    await run(
      `CREATE TABLE noted (writer TEXT, of_table TEXT, at_ms BIGINT, row JSONB);
       ALTER TABLE noted OWNER TO heartline;
       CREATE FUNCTION note() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO noted VALUES (current_setting('application_name'), TG_TABLE_NAME,
           extract(epoch FROM clock_timestamp()) * 1000, to_jsonb(NEW));
         RETURN NEW;
       END $$;
       CREATE TRIGGER note AFTER INSERT OR UPDATE ON votes FOR EACH ROW EXECUTE FUNCTION note();
       CREATE TRIGGER note AFTER INSERT OR UPDATE ON incidents FOR EACH ROW EXECUTE FUNCTION note();
       CREATE TRIGGER note AFTER INSERT ON polls FOR EACH ROW EXECUTE FUNCTION note()`,
      url,
    )
  }

  /** Two members of one place over relays of their own, the owner of the network first. */
  async function startTwo(url: string, spool = false) {
    const started = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const relay = await startRelay(server.port)
        onTestFinished(() => relay.close())
        const daemon = await startMember({ url: through(url, relay.port, name), vantage: 'fra1', nodes, spool })
        return { name, relay, daemon }
      }),
    )
    const daemons = started.map(({ daemon }) => daemon)
    await everyoneShows(daemons, 'up')
    await until(async () => (await ownerOf(daemons, 'fra1')) !== undefined, 'all know the owner')
    const owner = await ownerOf(daemons, 'fra1')
    const [first, second] = started.toSorted((a) => (a.daemon === owner ? -1 : 1))
    if (first === undefined || second === undefined) throw new Error('two members')
    return { owner: first, other: second, daemons }
  }

  return { skip, server: () => server, nodes: () => nodes, run, claimsOf, noteWrites, startTwo }
}

/** The same database, reached by this port, and with a name by which its writes are known. */
function through(url: string, port: number, name: string): string {
  const address = new URL(url)
  address.port = String(port)
  address.searchParams.set('application_name', name)
  return address.href
}

/** The nodes of one network, as they are reached from each place: a fault holds for one place. */
export interface Nodes {
  of(vantage: string, name: (typeof NAMES)[number]): SimulatedNode
  /** When each request to an endpoint came, from any place (`performance.now`). */
  readonly requests: ReadonlyMap<string, number[]>
  stop(): Promise<void>
}

export async function startNodes(vantages: readonly string[]): Promise<Nodes> {
  const chain: SimulatedChain = createChain({ clock: systemClock, seed: 'cluster', blockTimeMs: 1000 })
  const nodes = new Map<string, SimulatedNode>()
  const requests = new Map<string, number[]>(NAMES.map((name) => [name, []]))
  for (const vantage of vantages) {
    for (const [at, name] of NAMES.entries()) {
      const node = await startSimulatedNode({
        clock: systemClock,
        chain,
        kind: { family: 'ethereum' },
        name,
        host: HOSTS[at] ?? '127.0.0.1',
        port: await freePort(),
        onRequest: () => requests.get(name)?.push(performance.now()),
      })
      nodes.set(`${vantage} ${name}`, node)
    }
  }
  return {
    of(vantage, name) {
      const node = nodes.get(`${vantage} ${name}`)
      if (node === undefined) throw new Error(`no node ${name} at ${vantage}`)
      return node
    },
    requests,
    stop: async () => void (await Promise.all([...nodes.values()].map((node) => node.stop()))),
  }
}

export interface MemberOptions {
  readonly url: string
  readonly vantage: string
  readonly nodes: Nodes
  readonly spool?: boolean
  readonly notify?: object
  /** Each has the three endpoints. */
  readonly networks?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly intervalMs?: number
  readonly leaseMs?: number
}

function configOf(options: MemberOptions): object {
  const { url, vantage, nodes, spool = false, notify, networks = ['net'] } = options
  const { intervalMs = INTERVAL_MS, leaseMs = LEASE_MS } = options
  const endpoints = NAMES.map((name) => ({ name, url: nodes.of(vantage, name).url }))
  return {
    poll: { interval: `${intervalMs}ms`, timeout: '1s' },
    store: { url, ...(spool && { path: 'spool.db' }) },
    cluster: { vantage, lease: `${leaseMs}ms` },
    networks: networks.map((name) => ({ name, family: 'ethereum', block_time: '1s', endpoints })),
    ...(notify !== undefined && { notify }),
  }
}

const folders: string[] = []
const running = new Set<RunningDaemon>()

export async function startMember(options: MemberOptions): Promise<RunningDaemon> {
  const folder = temporaryFolder()
  folders.push(folder)
  const daemon = await startDaemon(configOf(options), { folder, env: options.env ?? {} })
  running.add(daemon)
  return daemon
}

export async function stopMembers(): Promise<void> {
  await Promise.all([...running].map((daemon) => daemon.stop('SIGKILL')))
  running.clear()
  for (const folder of folders.splice(0)) removeFolder(folder)
}

export interface ClusterView {
  readonly members: readonly { readonly id: string; readonly vantage: string; readonly self: boolean }[]
  readonly leases: readonly { readonly vantage: string; readonly network: string; readonly member: string | null }[]
  readonly store: { readonly reachable: boolean; readonly since: string; readonly spool_rows: number }
}

export interface IncidentView {
  readonly id: string
  readonly network: string
  readonly endpoint: string | null
  readonly state: string
  readonly vantages: readonly string[]
  readonly conditions: readonly { readonly code: string; readonly message: string }[]
  readonly closed_at: string | null
}

export const clusterOf = async (daemon: RunningDaemon): Promise<ClusterView> =>
  JSON.parse((await daemon.get('/api/v1/cluster')).text) as ClusterView

export async function incidentsOf(daemon: RunningDaemon): Promise<readonly IncidentView[]> {
  let answer = await daemon.get('/api/v1/incidents')
  // The database may answer too late on a busy machine.
  await until(async () => {
    if (answer.status === 503) answer = await daemon.get('/api/v1/incidents')
    return answer.status !== 503
  }, 'the incidents can be read')
  return (JSON.parse(answer.text) as { incidents: IncidentView[] }).incidents
}

export const idOf = async (daemon: RunningDaemon) =>
  (await clusterOf(daemon)).members.find(({ self }) => self)?.id ?? ''

export async function stateOf(daemon: RunningDaemon, name = 'a', network = 'net'): Promise<string> {
  return (await daemon.endpoint(network, name)).state
}

/** How many polls the member has made. */
export async function pollsOf(daemon: RunningDaemon): Promise<number> {
  const { text } = await daemon.get('/metrics')
  const runs = /^heartline_check_duration_seconds_count\{network="net",check="head"\} (\d+)$/m.exec(text)
  return Number(runs?.[1])
}

/** The member that polls the network for the vantage. */
export async function ownerOf(
  daemons: readonly RunningDaemon[],
  vantage: string,
  network = 'net',
): Promise<RunningDaemon | undefined> {
  for (const daemon of daemons) {
    const { members, leases } = await clusterOf(daemon)
    const self = members.find((one) => one.self)
    const lease = leases.find((one) => one.vantage === vantage && one.network === network)
    if (self !== undefined && lease?.member === self.id) return daemon
  }
  return undefined
}

export async function everyoneShows(daemons: readonly RunningDaemon[], state: string, name = 'a'): Promise<void> {
  for (const daemon of daemons) {
    await until(async () => (await stateOf(daemon, name)) === state, `${name} is ${state}`)
  }
}

/** Whether each place counts, for one endpoint. */
export async function placesOf(daemon: RunningDaemon, name = 'a'): Promise<ReadonlyMap<string, boolean>> {
  const { text } = await daemon.get(`/api/v1/endpoints/net/${name}`)
  const { vantages } = JSON.parse(text) as { vantages: { vantage: string; counted: boolean }[] }
  return new Map(vantages.map(({ vantage, counted }) => [vantage, counted]))
}

/** Until then, a member may show what it alone sees. */
export async function everyoneHears(daemons: readonly RunningDaemon[], vantages: readonly string[]): Promise<void> {
  await until(async () => {
    const places = await Promise.all(daemons.flatMap((daemon) => NAMES.map((name) => placesOf(daemon, name))))
    return places.every((of) => vantages.every((vantage) => of.get(vantage) === true))
  }, 'everyone hears all places')
}

/** The longest time between two requests to an endpoint, until now. */
export function longestGap(times: readonly number[], from: number): number {
  const after = [...times.filter((at) => at >= from), performance.now()]
  return after.reduce((longest, at, index) => Math.max(longest, at - (after[index - 1] ?? from)), 0)
}

/** A channel's webhook until the test has finished. */
export interface Sink {
  readonly url: string
  /** What it answers. */
  status: number
  /** The type of each accepted message, by its id. */
  readonly types: Map<string, string>
  count: number
  accepted: number
}

export async function startSink(): Promise<Sink> {
  const { url } = await serveHttp((request, response, body) => {
    if (sink.status === 200) {
      sink.types.set(String(request.headers['webhook-id']), (JSON.parse(body) as { type: string }).type)
      sink.accepted++
    }
    sink.count++
    response.writeHead(sink.status).end()
  })
  const sink: Sink = { url, status: 200, types: new Map(), count: 0, accepted: 0 }
  return sink
}
