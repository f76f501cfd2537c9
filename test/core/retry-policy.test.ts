import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FAILURE_KINDS, type Failure, isFault } from '../../src/core/failure.ts'
import { type Need, OPERATIONS, type Operation } from '../../src/core/routing/operation.ts'
import { type AttemptResult, isRateLimit, nextStep } from '../../src/core/routing/retry-policy.ts'

const read: Operation = { name: 'eth_chainId', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false }
const block = (height: number): Operation => ({
  name: 'eth_getBlockByNumber',
  need: { kind: 'height', shard: null, height },
  isRead: true,
  absenceIsDoubtful: true,
})
const write: Operation = { ...read, name: 'admin.alias', isRead: false }
const error = (code: number | string | null, message = ''): AttemptResult & { kind: 'error' } => ({
  kind: 'error',
  code,
  message,
})
const NULL: AttemptResult = { kind: 'result', isNull: true }

test.each<[string, Operation, AttemptResult, number | null, string]>([
  ['an answer is passed on', read, { kind: 'result', isNull: false }, 10, 'answer'],
  ['null is an answer where nothing is looked for', read, NULL, 10, 'answer'],
  ['null at the tip is doubted', block(10), NULL, 10, 'absent'],
  ['null above the tip is the truth', block(11), NULL, 10, 'answer'],
  ['null is doubted where no tip is known', block(11), NULL, null, 'absent'],
  ["coreth's words are doubted", block(9), error(-32_000, 'cannot query unfinalized data'), 10, 'absent'],
  ["coreth's words above the tip pass", block(11), error(-32_000, 'cannot query unfinalized data'), 10, 'answer'],
  ['a state that was pruned may be elsewhere', read, error(-32_000, 'missing trie node 0a'), 10, 'absent'],
  ['-39001 is an answer', read, error(-39_001, 'Unknown block'), 10, 'answer'],
  ['a reverted call is an answer', read, error(3, 'execution reverted'), 10, 'answer'],
  ['bad params are an answer', read, error(-32_602, 'invalid argument 0'), 10, 'answer'],
  [
    'a method that this node has not may be elsewhere',
    read,
    error(-32_601, 'the method x does not exist'),
    10,
    'unable',
  ],
  ["EIP-1474's word for that", read, error(-32_004, 'method not supported'), 10, 'unable'],
  ["avalanchego's words for that", read, error(-32_000, 'rpc: can\'t find method "health.GetLiveness"'), 10, 'unable'],
  ['an error without a request id is not an answer', read, { ...error(-32_602), hasNullId: true }, 10, 'unable'],
  ['our rate is limited', read, error(-32_005, 'x'), 10, 'next'],
  ['our key is refused', read, error(-32_099, 'Authentication failed'), 10, 'next'],
  ['MultiversX has not got it', { ...block(9), name: 'block_by_nonce' }, error('internal_issue'), 10, 'absent'],
  ['MultiversX is broken', { ...read, name: 'network_status' }, error('internal_issue'), 10, 'next'],
  ['MultiversX finds the request bad', { ...read, name: 'network_status' }, error('bad_request'), 10, 'answer'],
  ['a write that failed stops', write, { kind: 'failed', failure: { kind: 'refused' }, unsent: true }, 10, 'stop'],
  ["a write's own error is passed on", write, error(-32_005, 'rate'), 10, 'answer'],
])('%s', (_, operation, came, tip, step) => {
  expect(nextStep(operation, came, tip)).toBe(step)
})

test('a query that asks for too much is no limit of our rate', () => {
  const other: Operation = { ...read, name: 'other' }

  expect(isRateLimit(other, { kind: 'error', code: -32_005, message: 'query returned more than 10000 results' })).toBe(
    false,
  )
  expect(isRateLimit(other, { kind: 'error', code: -32_005, message: 'Too Many Requests' })).toBe(true)
})

test('words of a rate limit count where neither a contract nor the caller can have written them', () => {
  const said = [
    error(-32_000, 'rate limit exceeded'),
    error(-32_016, 'over rate limit'),
    error(-32_029, 'Too Many Requests'),
    error(-32_000, 'daily request count exceeded, request rate limited'),
  ]
  const counts = (name: Operation['name']) => said.map((one) => isRateLimit({ ...read, name }, one))

  for (const name of ['eth_chainId', 'eth_getBlockByNumber', 'eth_getTransactionByHash', 'network_status'] as const) {
    expect(counts(name)).toEqual([true, true, true, true])
  }
  for (const name of ['other', 'alias', 'admin.alias', 'health.health'] as const) {
    expect(counts(name)).toEqual([false, false, false, false])
  }
})

const failures: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constantFrom(...FAILURE_KINDS),
  status: fc.integer({ min: 300, max: 599 }),
  afterMs: fc.nat(),
  code: fc.string(),
  retryAfterMs: fc.constant(null),
}) as unknown as fc.Arbitrary<Failure>
const needs: fc.Arbitrary<Need> = fc.oneof(
  fc.constant<Need>({ kind: 'any' }),
  fc.constant<Need>({ kind: 'latest', shard: null }),
  fc.constant<Need>({ kind: 'hash', shard: null }),
  fc.record({ kind: fc.constant('height' as const), shard: fc.constant(null), height: fc.nat(100) }),
)
const operations: fc.Arbitrary<Operation> = fc.record({
  name: fc.constantFrom(...OPERATIONS),
  need: needs,
  isRead: fc.boolean(),
  absenceIsDoubtful: fc.boolean(),
})
const cames: fc.Arbitrary<AttemptResult> = fc.oneof(
  fc.record({ kind: fc.constant('failed' as const), failure: failures, unsent: fc.boolean() }),
  fc.record({ kind: fc.constant('result' as const), isNull: fc.boolean() }),
  fc.record({
    kind: fc.constant('error' as const),
    code: fc.oneof(
      fc.integer(),
      fc.constantFrom(-32_005, -32_001, 4444, -39_001, null, 'internal_issue', 'bad_request'),
    ),
    message: fc.oneof(fc.string(), fc.constantFrom('header not found', 'rate limited')),
  }),
)

test('a write is never sent to another endpoint', () => {
  fc.assert(
    fc.property(operations, cames, fc.option(fc.nat(100)), (operation, came, tip) => {
      const step = nextStep({ ...operation, isRead: false }, came, tip)
      expect(step).toBe(came.kind === 'failed' ? 'stop' : 'answer')
    }),
  )
})

test('nothing above the tip is looked for elsewhere', () => {
  fc.assert(
    fc.property(operations, cames, fc.nat(50), (operation, came, tip) => {
      const above: Operation = { ...operation, need: { kind: 'height', shard: null, height: tip + 1 } }
      expect(nextStep(above, came, tip)).not.toBe('absent')
    }),
  )
})

test('a failed read goes to the next endpoint, unless its answer would be as large there', () => {
  fc.assert(
    fc.property(operations, failures, fc.boolean(), (operation, failure, unsent) => {
      const step = nextStep({ ...operation, isRead: true }, { kind: 'failed', failure, unsent }, null)
      expect(step).toBe(failure.kind === 'too-large' ? 'stop' : 'next')
    }),
  )
})

test.each<[Failure, boolean]>([
  [{ kind: 'timeout', afterMs: 1 }, true],
  [{ kind: 'wrong-id' }, true],
  [{ kind: 'http', status: 500 }, true],
  [{ kind: 'http', status: 401 }, true],
  [{ kind: 'http', status: 413 }, false],
  [{ kind: 'rate-limited', retryAfterMs: null }, false],
  [{ kind: 'local-resources', code: 'EMFILE' }, false],
  [{ kind: 'too-large', limitBytes: 1 }, false],
])('%j counts against the endpoint: %s', (failure, fault) => {
  expect(isFault(failure)).toBe(fault)
})
