import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import { parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Answer, Request } from './answer.ts'
import type { SimulatedChain } from './chain.ts'
import { FAULT_KINDS, type Fault, type FaultKind, readFaultRequest, writeFault } from './fault.ts'
import type { FaultSet } from './fault-set.ts'
import type { NodeView } from './view.ts'

/** The control interface of a node reads its status, injects and heals faults, and mints blocks. Loopback only. */
export const CONTROL_PATH = '/-/control'

interface ControlDeps {
  readonly name: string
  readonly family: string
  readonly isProxy: boolean
  readonly chain: SimulatedChain
  readonly shards: readonly Shard[]
  readonly faults: FaultSet
  readonly view: () => NodeView
}

const Mine = z.strictObject({ blocks: z.int().min(1).max(1_000_000).default(1) })
const AVALANCHE_ONLY: ReadonlySet<FaultKind> = new Set([
  'unhealthy',
  'failing-check',
  'frozen-heartbeat',
  'no-evidence',
  'bootstrapping',
])
const ETHEREUM_ONLY: ReadonlySet<FaultKind> = new Set(['consensus-syncing', 'consensus-down'])
/** A MultiversX proxy has no state of its own. */
const ASKED_ONLY: ReadonlySet<FaultKind> = new Set(['syncing', 'few-peers', 'not-offered'])
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/
/** Stops web pages from making a local browser send requests here, also by DNS rebinding. */
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i

export function isLocalRequest({ socket, headers }: IncomingMessage): boolean {
  const sentByPage = headers.origin !== undefined
  return LOOPBACK.test(socket.remoteAddress ?? '') && LOOPBACK_HOST.test(headers.host ?? '') && !sentByPage
}

export function answerControl({ method, path, body }: Request, deps: ControlDeps): Answer {
  const [resource = '', name, ...rest] = path.slice(CONTROL_PATH.length + 1).split('/')
  if (rest.length > 0) return notFound()
  switch (resource) {
    case '':
      return method === 'GET' ? ok(status(deps)) : notAllowed('GET')
    case 'faults':
      if (method === 'DELETE') return heal(name, deps)
      if (name !== undefined) return notAllowed('DELETE')
      if (method === 'GET') return ok(status(deps).faults)
      return method === 'POST' ? inject(body, deps) : notAllowed('GET, POST, DELETE')
    case 'mine':
      return method === 'POST' && name === undefined ? mine(body, deps) : notAllowed('POST')
  }
  return notFound()
}

function status({ name, family, chain, shards, faults, view }: ControlDeps) {
  const seen = view()
  return {
    name,
    family,
    halted: chain.halted,
    heads: shards.map((shard) => {
      const height = seen.tip(shard)
      return { shard, height, hash: seen.block(shard, height)?.hash ?? null, chain_height: chain.height(shard) }
    }),
    faults: faults.list().map(({ fault, since, until }) => ({
      ...writeFault(fault),
      since: new Date(since).toISOString(),
      until: until === null ? null : new Date(until).toISOString(),
    })),
  }
}

function inject(body: string, deps: ControlDeps): Answer {
  const parsed = parseJson(body)
  if (parsed === undefined) return problem(400, 'The body is not JSON')
  const request = readFaultRequest(parsed)
  if (!request.ok) return problem(422, 'Invalid fault', { problems: request.problems, kinds: FAULT_KINDS })
  const problems = misfits(request.fault, deps)
  if (problems.length > 0) return problem(422, 'The fault does not fit this node', { problems })
  deps.faults.inject(request.fault, request.forMs ?? undefined)
  return ok(status(deps), 201)
}

/** Lists why a fault would have no effect on this node; empty if it would. */
function misfits(fault: Fault, { family, isProxy, chain, shards }: ControlDeps): readonly string[] {
  const problems: string[] = []
  if (AVALANCHE_ONLY.has(fault.kind) && family !== 'avalanche') {
    problems.push(`kind: ${fault.kind} exists on avalanche nodes only`)
  }
  if (ETHEREUM_ONLY.has(fault.kind) && family !== 'ethereum') {
    problems.push(`kind: ${fault.kind} exists on ethereum nodes only`)
  }
  if (ASKED_ONLY.has(fault.kind) && (family === 'avalanche' || isProxy)) {
    problems.push(`kind: ${fault.kind} exists on ethereum nodes and multiversx observers only`)
  }
  if ('shard' in fault && !shards.includes(fault.shard ?? null)) {
    problems.push(`shard: the shards of this node are ${shards.map((shard) => shard ?? 'none').join(', ')}`)
  }
  const height = chain.height(chain.shards[0] ?? null)
  if (fault.kind === 'halt' && fault.at !== undefined && fault.at < height) {
    problems.push(`at: the chain is at ${height} already`)
  }
  return problems
}

function heal(name: string | undefined, deps: ControlDeps): Answer {
  const kind = FAULT_KINDS.find((candidate) => candidate === name)
  if (name !== undefined && kind === undefined) return problem(404, 'Unknown kind of fault', { kinds: FAULT_KINDS })
  deps.faults.heal(kind)
  return ok(status(deps))
}

function mine(body: string, deps: ControlDeps): Answer {
  const parsed = body === '' ? {} : parseJson(body)
  if (parsed === undefined) return problem(400, 'The body is not JSON')
  const request = Mine.safeParse(parsed)
  if (!request.success) {
    const problems = request.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
    return problem(422, 'Invalid number of blocks', { problems })
  }
  deps.chain.mine(request.data.blocks)
  return ok(status(deps))
}

function ok(value: unknown, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(value, null, 2)}\n` }
}

/** An error response with problem details (RFC 9457). */
export function problem(status: number, title: string, more: Record<string, unknown> = {}): Answer {
  const body = JSON.stringify({ type: 'about:blank', title, status, ...more }, null, 2)
  return { status, headers: { 'content-type': 'application/problem+json' }, body: `${body}\n` }
}

const notFound = () => problem(404, 'Not found')

function notAllowed(allow: string): Answer {
  const answer = problem(405, 'Method not allowed')
  return { ...answer, headers: { ...answer.headers, allow } }
}
