import type { LookupFunction } from 'node:net'
import { type Chain, type ChainMemory, type ChainTarget, type Conversation, newChainMemory } from '../chains/chain.ts'
import { chains } from '../chains/registry.ts'
import type { Clock } from '../clock.ts'
import { type CheckName, type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Outcome, PollResult, ShardHead } from '../core/poll-result.ts'
import { createAddress, type NodeAddress, type NodeLocation } from './address.ts'
import { createNodeClient, type NodeClient } from './client.ts'
import { Deadline } from './deadline.ts'

/** Polls one endpoint: runs its checks, each under its own deadline. Never rejects. */
export interface Prober {
  poll(endpoint: Endpoint, signal: AbortSignal): Promise<PollResult>
  close(): Promise<void>
}

/** An endpoint, and all that it takes to ask it. */
export interface NodeTarget extends NodeLocation, ChainTarget {
  readonly endpoint: Endpoint
  /** For each check whole, however many requests it sends. */
  readonly timeoutMs: number
}

export interface TargetedProber extends Prober {
  /** The new whole set. What is known of an endpoint is kept where nothing of how it is asked has changed. */
  retarget(targets: readonly NodeTarget[]): void
}

export interface ProberDeps {
  readonly clock: Clock
  /** Connections to one origin, at most; whoever needs one more waits, within its deadline. */
  readonly maxConnections?: number
  readonly lookup?: LookupFunction | null
}

/** Four polls of all shards of a proxy at once, twice over. */
const MAX_CONNECTIONS = 32

/**
 * The head check waits this long for liveness, to ask over the same connection: nodes that answer at once, which is nearly all,
 * need one connection and not two. Beyond it the checks run side by side, so that a poll lasts no longer than a check.
 */
const PATIENCE_MS = 100

interface Entry {
  readonly target: NodeTarget
  readonly fingerprint: string
  readonly address: NodeAddress
  readonly chain: Chain
  readonly memory: ChainMemory
}

export function createProber({ clock, maxConnections = MAX_CONNECTIONS, lookup = null }: ProberDeps): TargetedProber {
  const client = createNodeClient({ clock, maxConnections, lookup })
  let entries = new Map<EndpointKey, Entry>()

  return {
    retarget(targets) {
      const before = entries
      entries = new Map()
      for (const target of targets) {
        const key = endpointKey(target.endpoint)
        const fingerprint = fingerprintOf(target)
        const known = before.get(key)
        entries.set(key, known?.fingerprint === fingerprint ? { ...known, target } : createEntry(target, fingerprint))
      }
      client.retain([...entries.values()].map(({ address }) => address))
    },

    poll(endpoint, signal) {
      const entry = entries.get(endpointKey(endpoint))
      return entry === undefined
        ? Promise.resolve(notAsked(endpoint, clock))
        : createVisit(entry, endpoint, client, clock, signal).run()
    },

    close: () => client.close(),
  }
}

function createEntry(target: NodeTarget, fingerprint: string): Entry {
  return {
    target,
    fingerprint,
    address: createAddress(target),
    chain: chains[target.endpoint.family],
    memory: newChainMemory(),
  }
}

/** All that decides whom we talk to, and how. It holds secrets, and never leaves this file. */
function fingerprintOf({ endpoint, url, headers, rpcPath, kind, chainId, tls }: NodeTarget): string {
  const revealed = Object.entries(headers).map(([name, value]) => [name, value.reveal()])
  return JSON.stringify([endpoint.family, url.reveal(), revealed, rpcPath, kind, chainId, tls.ca, tls.insecure])
}

/** One poll of one endpoint. */
function createVisit(entry: Entry, endpoint: Endpoint, client: NodeClient, clock: Clock, signal: AbortSignal) {
  const { target, address, chain, memory } = entry
  let clockSkewMs: number | null = null

  async function run(): Promise<PollResult> {
    const startedAt = clock.now()
    const liveness = has('liveness') && chain.liveness !== null ? check(chain.liveness(target, memory)) : null
    if (liveness !== null && has('head')) await soon(liveness, clock)
    const heads = has('head') ? await readHeads() : []
    return {
      endpoint,
      startedAt,
      liveness: liveness === null ? null : await liveness,
      heads,
      clockSkewMs,
      tlsNotAfter: client.tlsNotAfter(address),
      finishedAt: clock.now(),
    }
  }

  function has(name: CheckName): boolean {
    return endpoint.checks.includes(name)
  }

  async function check<T>(conversation: Conversation<T>): Promise<Outcome<T>> {
    const deadline = new Deadline(clock, target.timeoutMs, signal)
    try {
      return await converse(conversation, deadline)
    } finally {
      deadline.end()
    }
  }

  /** The shards side by side, under one deadline. */
  async function readHeads(): Promise<readonly ShardHead[]> {
    const deadline = new Deadline(clock, target.timeoutMs, signal)
    const readShard = async (shard: ShardHead['shard']): Promise<ShardHead> => ({
      shard,
      outcome: await converse(chain.head(target, shard, memory), deadline),
    })
    try {
      return await Promise.all(endpoint.shards.map(readShard))
    } finally {
      deadline.end()
    }
  }

  async function converse<T>(conversation: Conversation<T>, deadline: Deadline): Promise<Outcome<T>> {
    const startedAt = clock.monotonic()
    let step = conversation.next()
    while (!step.done) {
      const sentAt = clock.monotonic()
      const sent = await client.send(address, step.value, deadline)
      if (!sent.ok) return { ok: false, failure: sent.failure, durationMs: clock.monotonic() - startedAt }
      const { answer } = sent
      if (answer.date !== null) {
        // A Date header says the second, and was written somewhere between our asking and its arrival: the middle of both.
        const halfwayMs = (clock.monotonic() - sentAt) / 2
        clockSkewMs = answer.date + 500 - (answer.receivedAt - halfwayMs)
      }
      step = conversation.next(answer)
    }
    return { ...step.value, durationMs: clock.monotonic() - startedAt }
  }

  return { run }
}

/** Waits for it, but not for long. */
async function soon(it: Promise<unknown>, clock: Clock): Promise<void> {
  let giveUp = (): void => {}
  const patienceEnds = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  const timer = clock.after(PATIENCE_MS, giveUp)
  await Promise.race([it, patienceEnds])
  timer.cancel()
}

/** Between one configuration and the next an endpoint may be polled that is not there any more: that says nothing of the node. */
function notAsked(endpoint: Endpoint, clock: Clock): PollResult {
  const now = clock.now()
  const outcome = { ok: false, failure: { kind: 'local-resources', code: 'removed' }, durationMs: 0 } as const
  return {
    endpoint,
    startedAt: now,
    finishedAt: now,
    liveness: endpoint.checks.includes('liveness') ? outcome : null,
    heads: endpoint.checks.includes('head') ? endpoint.shards.map((shard) => ({ shard, outcome })) : [],
    clockSkewMs: null,
    tlsNotAfter: null,
  }
}
