import { newChainMemory } from '../chains/chain.ts'
import { type Candidate, candidatesOf, type Identity } from '../chains/identify.ts'
import type { Clock } from '../clock.ts'
import { describeFailure, type Failure } from '../core/failure.ts'
import type { Family } from '../core/network.ts'
import { Secret } from '../secret.ts'
import { createAddress } from './address.ts'
import { createNodeClient, type NodeClient } from './client.ts'
import { Deadline } from './deadline.ts'

/** Finds out which family and chain answers at a URL, by asking the questions of each family in turn. */
export async function identifyNode(url: URL, family: Family | null, deps: IdentifyDeps): Promise<Identified> {
  const client = createNodeClient({ clock: deps.clock, maxConnections: 1, lookup: null })
  try {
    const failures: string[] = []
    for (const candidate of candidatesOf(url, family)) {
      const identified = await ask(candidate, client, deps)
      if (identified.ok) return { ok: true, url: candidate.url, identity: identified.value }
      failures.push(`not ${candidate.family}: ${describeFailure(identified.failure)}`)
    }
    return { ok: false, failures }
  } finally {
    client.close()
  }
}

export interface IdentifyDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Deadline of the questions of one family. */
  readonly timeoutMs: number
}

export type Identified =
  | { readonly ok: true; readonly url: URL; readonly identity: Identity }
  /** One sentence for each family that was tried. Contains no part of the URL. */
  | { readonly ok: false; readonly failures: readonly string[] }

type Asked = { readonly ok: true; readonly value: Identity } | { readonly ok: false; readonly failure: Failure }

async function ask({ url, identify }: Candidate, client: NodeClient, deps: IdentifyDeps): Promise<Asked> {
  const address = createAddress({ url: new Secret(url.href), headers: {}, tls: { ca: null, insecure: false } })
  const deadline = new Deadline(deps.clock, deps.timeoutMs, deps.signal)
  try {
    const conversation = identify(newChainMemory())
    let step = conversation.next()
    while (!step.done) {
      const sent = await client.send(address, step.value, deadline)
      if (!sent.ok) return sent
      step = conversation.next(sent.answer)
    }
    return step.value
  } finally {
    deadline.end()
  }
}
