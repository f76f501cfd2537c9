import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newChainMemory } from '../../src/chains/chain.ts'
import { ethereum, evmChainId } from '../../src/chains/ethereum.ts'
import type { Failure } from '../../src/core/failure.ts'
import { failureOf, inquire, methodOf, NOW, recorded, type Scripted, TARGET, valueOf } from './support.ts'

const HOUR = 3_600_000
const SYNCED: Scripted = { body: recorded('ethereum/syncing-not') }
const PEERS: Scripted = { body: recorded('ethereum/peers-geth') }
const CLIENT: Scripted = { body: recorded('ethereum/client-geth') }
const UNKNOWN: Scripted = { body: recorded('ethereum/error-method-not-found') }
const rpcError = (code: number, message: string, status = 200): Scripted => ({
  body: { jsonrpc: '2.0', id: 1, error: { code, message } },
  status,
})
const result = (value: unknown): Scripted => ({ body: { jsonrpc: '2.0', id: 1, result: value } })

function ask(script: readonly (Scripted | Failure)[], memory = newChainMemory(), now = 0) {
  return inquire(ethereum.liveness(TARGET, null, memory, now), script)
}

const reportOf = (script: readonly (Scripted | Failure)[]) => valueOf(ask(script)).report
const syncOf = (answer: Scripted) => reportOf([answer, PEERS, CLIENT])?.sync
const checkOf = (name: string, script: readonly (Scripted | Failure)[]) =>
  valueOf(ask(script)).checks.find((check) => check.name === name)

test('asks for synchronization and peers every time, and for the client once an hour', () => {
  const memory = newChainMemory()
  const methods = (script: readonly Scripted[], now: number) => ask(script, memory, now).requests.map(methodOf)

  expect(methods([SYNCED, PEERS, CLIENT], 0)).toEqual(['eth_syncing', 'net_peerCount', 'web3_clientVersion'])
  expect(methods([SYNCED, PEERS], HOUR - 1)).toEqual(['eth_syncing', 'net_peerCount'])
  expect(methods([SYNCED, PEERS, CLIENT], HOUR)).toEqual(['eth_syncing', 'net_peerCount', 'web3_clientVersion'])
})

test.each<[string, Scripted]>([
  ['limits our rate', { body: '', status: 429 }],
  ['answers HTTP 500', { body: '', status: 500 }],
])('a client that is known stays known when the node %s', (_how, answer) => {
  const memory = newChainMemory()
  ask([SYNCED, PEERS, CLIENT], memory, 0)

  expect(valueOf(ask([SYNCED, PEERS, answer], memory, HOUR)).report?.client).toMatchObject({ name: 'Geth' })
  const next = answer.status === 429 ? [SYNCED, PEERS, CLIENT] : [SYNCED, PEERS]
  expect(valueOf(ask(next, memory, HOUR + 60_000)).report?.client).toMatchObject({ name: 'Geth' })
})

test('a synced node is healthy, with its peers and its client', () => {
  const liveness = valueOf(ask([SYNCED, PEERS, CLIENT]))

  expect(liveness).toMatchObject({ healthy: true, heartbeatAt: null })
  expect(liveness.checks.map(({ name, healthy }) => [name, healthy])).toEqual([
    ['eth_syncing', true],
    ['net_peerCount', true],
  ])
  expect(liveness.report).toEqual({
    sync: { isSyncing: false, remainingBlocks: null },
    peers: 50,
    client: { name: 'Geth', version: 'v1.16.4-stable-41714b49' },
    consensus: null,
  })
})

describe('a syncing node', () => {
  test.each(['geth', 'erigon', 'reth', 'nethermind', 'besu'])('of %s tells the blocks to go', (client) => {
    expect(syncOf({ body: recorded(`ethereum/syncing-${client}`) })).toEqual({
      isSyncing: true,
      remainingBlocks: 0x15f3a2b - 0x15e8a10,
    })
  })

  test.each(['syncing-coreth', 'syncing-geth-waiting', 'syncing-nitro'])(
    'may not tell the blocks to go: %s',
    (name) => {
      expect(syncOf({ body: recorded(`ethereum/${name}`) })).toEqual({ isSyncing: true, remainingBlocks: null })
    },
  )

  test('is not healthy', () => {
    const liveness = valueOf(ask([{ body: recorded('ethereum/syncing-geth') }, PEERS, CLIENT]))

    expect(liveness.healthy).toBe(false)
    expect(liveness.checks[0]).toMatchObject({ name: 'eth_syncing', healthy: false, error: null })
  })

  test('is synced if it has all blocks and only indexes them', () => {
    expect(syncOf({ body: recorded('ethereum/syncing-geth-indexing') })).toEqual({
      isSyncing: false,
      remainingBlocks: null,
    })
  })
})

test.each([
  ['null', null],
  ['a text', 'false'],
  ['a number', 0],
  ['a list', []],
])('%s is an invalid answer to eth_syncing, and no sign of syncing', (_name, value) => {
  const liveness = valueOf(ask([result(value), PEERS, CLIENT]))

  expect(liveness.report?.sync).toBeNull()
  expect(liveness.checks[0]).toMatchObject({ healthy: false, error: expect.stringContaining('eth_syncing is') })
})

test.each<[string, Scripted | Failure]>([
  ['an error', rpcError(-32_000, 'request timed out')],
  ['HTTP 500', { body: '', status: 500 }],
  ['a timeout', { kind: 'timeout', afterMs: 5000 }],
  ['no time left to answer', { kind: 'timeout', afterMs: 5000, isCutShort: true }],
])('the number of peers is unknown after %s', (_how, answer) => {
  const { report } = valueOf(ask([SYNCED, answer, CLIENT]))

  expect(report).toMatchObject({ sync: { isSyncing: false }, peers: null, peersFailed: true })
  expect(report).not.toHaveProperty('syncFailed')
})

test('it is unknown whether a node is syncing that answers the question with an error', () => {
  const { report } = valueOf(ask([rpcError(-32_000, 'request timed out'), PEERS, CLIENT]))

  expect(report).toMatchObject({ sync: null, syncFailed: true, peers: 50 })
  expect(report).not.toHaveProperty('peersFailed')
  expect(reportOf([UNKNOWN, UNKNOWN, CLIENT])).toEqual({
    ...reportOf([SYNCED, PEERS, CLIENT]),
    sync: null,
    peers: null,
  })
})

describe('a method that is not offered', () => {
  test.each<[string, Scripted]>([
    ['by geth', UNKNOWN],
    ['by anvil', rpcError(-32_601, 'Method not found')],
    ['by a whitelist, with status 400', rpcError(-32_601, 'method is not whitelisted', 400)],
    ['by Alchemy', rpcError(-32_600, 'Unsupported method: net_peerCount on ETH_MAINNET', 400)],
    ['on this plan', rpcError(-32_000, 'This method is not available on your plan', 403)],
    ['by EIP-1474', rpcError(-32_004, 'nope')],
    ['by a proxy: 401', { body: 'Unauthorized', status: 401 }],
    ['by a proxy: 403', { body: 'Forbidden', status: 403 }],
    ['by a proxy: 404', { body: '<html>', status: 404 }],
    ['by a proxy: 405', { body: '', status: 405 }],
  ])('is not held against the node: %s', (_name, refusal) => {
    const liveness = valueOf(ask([SYNCED, refusal, CLIENT]))

    expect(liveness).toMatchObject({ healthy: true, report: { peers: null } })
    expect(liveness.checks[1]).toMatchObject({ name: 'net_peerCount', healthy: true, offered: false, error: null })
  })

  test('is requested again after an hour, and then counts', () => {
    const memory = newChainMemory()
    ask([UNKNOWN, UNKNOWN, UNKNOWN], memory, 0)

    expect(ask([], memory, HOUR - 1).requests).toEqual([])
    const liveness = valueOf(ask([SYNCED, PEERS, CLIENT], memory, HOUR))
    expect(liveness.checks.every(({ offered }) => offered !== false)).toBe(true)
    expect(liveness.report?.peers).toBe(50)
  })

  test.each<[string, Scripted | Failure]>([
    ['an internal error', rpcError(-32_603, 'Internal error')],
    ['another error', rpcError(-32_000, 'header not found')],
    ['a missing resource', rpcError(-32_001, 'resource not found')],
    ['HTTP 500', { body: 'oops', status: 500 }],
    ['HTTP 502', { body: '<html>Bad Gateway</html>', status: 502 }],
    ['HTTP 400', { body: 'Bad Request', status: 400 }],
    ['a page', { body: '<html></html>' }],
    ['no answer in time', { kind: 'timeout', afterMs: 5000 }],
    ['a closed connection', { kind: 'reset' }],
    ['another answer', result('many')],
  ])('is something else than a failure: %s', (_name, answer) => {
    const memory = newChainMemory()
    const liveness = valueOf(ask([SYNCED, answer, CLIENT], memory))

    expect(liveness.healthy).toBe(false)
    expect(liveness.checks[1]).toMatchObject({ name: 'net_peerCount', healthy: false })
    expect(liveness.checks[1]?.error).not.toBeNull()
    expect(liveness.checks[1]?.offered).toBeUndefined()
    expect(memory.refusals?.size ?? 0).toBe(0)
  })
})

test.each<Failure>([{ kind: 'refused' }, { kind: 'timeout', afterMs: 5000 }, { kind: 'dns', code: 'ENOTFOUND' }])(
  'a node that does not answer the first question fails the check: %o',
  (failure) => {
    expect(failureOf(ask([failure]))).toEqual(failure)
  },
)

test('a node that limits our rate fails the check, whichever question it was, and whatever the status', () => {
  const limited = rpcError(-32_005, 'rate limit exceeded', 403)

  expect(failureOf(ask([{ body: '', status: 429, retryAfterMs: 7000 }]))).toEqual({
    kind: 'rate-limited',
    retryAfterMs: 7000,
  })
  expect(failureOf(ask([SYNCED, limited]))).toEqual({ kind: 'rate-limited', retryAfterMs: null })
})

test('a node that limits our rate after it has reported that it is syncing is syncing, and gets no further question', () => {
  const liveness = valueOf(ask([result(true), { body: '', status: 429 }]))

  expect(liveness).toMatchObject({ healthy: false, report: { sync: { isSyncing: true }, peers: null } })
  expect(liveness.checks.map(({ name }) => name)).toEqual(['eth_syncing'])
})

test.each([
  ['Geth/v1.16.4-stable-41714b49/linux-amd64/go1.25.1', 'Geth', 'v1.16.4-stable-41714b49'],
  ['Geth/my-node/v1.10.25-stable/linux-amd64/go1.18.6', 'Geth', 'v1.10.25-stable'],
  ['erigon/3.0.4/linux-amd64/go1.24.1', 'erigon', '3.0.4'],
  ['Nethermind/v1.35.2+b7f4f3b7/linux-x64/dotnet9.0.9', 'Nethermind', 'v1.35.2+b7f4f3b7'],
  ['besu/v25.9.0/linux-x86_64/openjdk-java-21', 'besu', 'v25.9.0'],
  ['reth/v1.8.2-9c30bf7/x86_64-unknown-linux-gnu', 'reth', 'v1.8.2-9c30bf7'],
  ['anvil/v1.7.1', 'anvil', 'v1.7.1'],
  ['Ganache/v7.9.2/EthereumJS TestRPC/v7.9.2/ethereum-js', 'Ganache', 'v7.9.2'],
  ['HardhatNetwork/2.26.3/@nomicfoundation/edr/0.3.5', 'HardhatNetwork', '2.26.3'],
  ['bor', 'bor', null],
  [`${'a'.repeat(63)}\u{1f600}/v1.0.0`, `${'a'.repeat(63)}\ufffd`, 'v1.0.0'],
])('%s is %s in version %s', (text, name, version) => {
  expect(reportOf([SYNCED, PEERS, result(text)])?.client).toEqual({ name, version })
})

test('text of the node is printable and short, and any answer gives a reading', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.json(), fc.string()), { minLength: 3, maxLength: 3 }), (bodies) => {
      const read = ask(bodies.map((body) => ({ body, status: 200 })))

      expect(read.reading.ok).toBe(true)
    }),
  )
  const client = reportOf([SYNCED, PEERS, result(`a\u202e\n${'b'.repeat(500)}/v1.${'2'.repeat(500)}`)])?.client
  expect(client?.name).toMatch(/^[\x20-\x7e\ufffd]{1,64}$/)
})

test('peers are a quantity, or the plain number that some servers send', () => {
  expect(reportOf([SYNCED, result('0x0'), CLIENT])?.peers).toBe(0)
  expect(reportOf([SYNCED, result(7), CLIENT])?.peers).toBe(7)
  expect(checkOf('net_peerCount', [SYNCED, result('-0x1'), CLIENT])?.healthy).toBe(false)
})

test('a chain id that was verified stays so if the node refuses to tell it later', () => {
  const memory = newChainMemory()
  const verified = (minutes: number, script: readonly Scripted[]) => {
    const ms = minutes * 60_000
    return valueOf(inquire(evmChainId({ ...TARGET, chainId: 1 }, memory, { wall: NOW + ms, monotonic: ms }), script))
  }

  expect(verified(0, [result('0x1')])).toBe(true)
  expect(verified(11, [{ body: '', status: 403 }])).toBe(true)
  expect(verified(12, [])).toBe(true)
})
