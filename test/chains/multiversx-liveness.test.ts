import { expect, test } from 'vitest'
import { newChainMemory } from '../../src/chains/chain.ts'
import { multiversx } from '../../src/chains/multiversx.ts'
import type { Failure } from '../../src/core/failure.ts'
import { failureOf, inquire, recorded, type Scripted, TARGET, valueOf } from './support.ts'

const OBSERVER = { ...TARGET, kind: 'observer' } as const

function ask(script: readonly (Scripted | Failure)[], target: typeof OBSERVER | typeof TARGET = OBSERVER) {
  return inquire(multiversx.liveness(target, 1, newChainMemory(), 0), script)
}

const recordedAs = (name: string): Scripted => ({ body: recorded(`multiversx/${name}`) })

test('an observer tells whether it is syncing, its peers and its version in one answer', () => {
  const { requests, ...talk } = ask([recordedAs('node-status')])

  expect(requests).toEqual([{ method: 'GET', path: '/node/status', body: null }])
  expect(valueOf({ requests, ...talk })).toMatchObject({
    healthy: true,
    checks: [{ name: '/node/status', healthy: true }],
    report: {
      sync: { isSyncing: false, remainingBlocks: null },
      peers: 47,
      client: { name: 'mx-chain-go', version: 'v1.10.6-0-g53f8b2e4c' },
    },
  })
})

test('a syncing observer tells the blocks to go', () => {
  expect(valueOf(ask([recordedAs('node-status-syncing')]))).toMatchObject({
    healthy: false,
    report: { sync: { isSyncing: true, remainingBlocks: 8731 }, peers: 3 },
  })
})

test.each([
  [99, 100, false],
  [100, 100, false],
  [101, 100, false],
  [91, 100, false],
  [90, 100, true],
  [0, 0, true],
])('an observer at %i of %i that says it is syncing: %s', (erd_nonce, erd_probable_highest_nonce, isSyncing) => {
  const metrics = { erd_is_syncing: 1, erd_nonce, erd_probable_highest_nonce, erd_num_connected_peers: 50 }

  const liveness = valueOf(ask([{ body: { data: { metrics }, error: '', code: 'successful' } }]))

  expect(liveness).toMatchObject({ healthy: !isSyncing, report: { sync: { isSyncing } } })
})

test('an observer that says for ten blocks on end that it is syncing, is, however few it lacks', () => {
  const memory = newChainMemory()
  const at = (erd_probable_highest_nonce: number, erd_is_syncing: 0 | 1) => {
    const metrics = { erd_is_syncing, erd_nonce: erd_probable_highest_nonce - 1, erd_probable_highest_nonce }
    const script = [{ body: { data: { metrics }, error: '', code: 'successful' } }]
    return valueOf(inquire(multiversx.liveness(OBSERVER, 1, memory, 0), script)).report?.sync
  }

  const synced = [at(100, 1), at(109, 1), at(109, 0), at(119, 1), at(128, 1)]
  for (const sync of synced) expect(sync).toEqual({ isSyncing: false, remainingBlocks: null })
  expect(at(129, 1)).toEqual({ isSyncing: true, remainingBlocks: 1 })
})

test('an observer that says it is syncing, and not at which height, is', () => {
  const body = { data: { metrics: { erd_is_syncing: 1 } }, error: '', code: 'successful' }

  expect(valueOf(ask([{ body }])).report?.sync).toEqual({ isSyncing: true, remainingBlocks: null })
})

test('a proxy tells nothing about itself: Heartline requests the status of a shard', () => {
  const { requests, ...talk } = ask([recordedAs('network-status')], TARGET)

  expect(requests.map(({ path }) => path)).toEqual(['/network/status/1'])
  expect(valueOf({ requests, ...talk })).toMatchObject({
    healthy: true,
    checks: [{ name: '/network/status', healthy: true }],
    report: { sync: null, peers: null, client: null },
  })
})

test.each<[string, Scripted]>([
  ['no such route', { body: '404 page not found', status: 404 }],
  ['forbidden', { body: { data: null, error: 'no', code: 'forbidden' }, status: 403 }],
])('an observer that does not offer its status is not held sick: %s', (_name, refusal) => {
  expect(valueOf(ask([refusal]))).toMatchObject({ healthy: true, checks: [{ offered: false }] })
})

test('a failure is a failure', () => {
  expect(failureOf(ask([{ kind: 'refused' }]))).toEqual({ kind: 'refused' })
  expect(failureOf(ask([{ ...recordedAs('error-system-busy'), status: 429 }]))).toMatchObject({ kind: 'rate-limited' })
  expect(valueOf(ask([{ body: 'oops', status: 500 }]))).toMatchObject({
    healthy: false,
    report: { sync: null, syncFailed: true, peers: null, peersFailed: true },
  })
  expect(valueOf(ask([{ body: { data: { metrics: 7 }, error: '', code: 'successful' } }])).healthy).toBe(false)
})
