import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { avalanche } from '../../src/chains/avalanche.ts'
import { type ChainMemory, newChainMemory } from '../../src/chains/chain.ts'
import type { Liveness } from '../../src/core/poll-result.ts'
import { failureOf, inquire, methodOf, NOW, recorded, type Scripted, TARGET, talk, valueOf } from './support.ts'

function ask(script: readonly Scripted[], memory: ChainMemory = newChainMemory()) {
  return inquire(avalanche.liveness(TARGET, null, memory, 0), script)
}

function read(name: string, over: Partial<Scripted> = {}): Liveness {
  return valueOf(ask([{ body: recorded(`avalanche/${name}`), ...over }]))
}

function reply(checks: unknown, healthy: unknown = true): Scripted {
  return { body: { jsonrpc: '2.0', id: 1, result: { checks, healthy } } }
}

const UNKNOWN: Scripted = { body: recorded('avalanche/error-unknown-method') }

describe('the method', () => {
  test('is getLiveness, posted to the health API', () => {
    const { requests } = ask([{ body: recorded('avalanche/liveness-old') }])

    expect(requests).toMatchObject([{ method: 'POST', path: '/ext/health' }])
    expect(methodOf(requests[0])).toBe('health.getLiveness')
  })

  test.each([UNKNOWN, { body: { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } } }])(
    'is health where the node does not know getLiveness, and stays so',
    (unknown) => {
      const memory = newChainMemory()

      const first = ask([unknown, { body: recorded('avalanche/health-new') }], memory)
      const second = ask([{ body: recorded('avalanche/health-new') }], memory)

      expect(first.requests.map(methodOf)).toEqual(['health.getLiveness', 'health.health'])
      expect(second.requests.map(methodOf)).toEqual(['health.health'])
      expect(second.reading.ok).toBe(true)
    },
  )

  test('is looked for again when the node behind the URL became an old one', () => {
    const memory = newChainMemory()
    ask([UNKNOWN, { body: recorded('avalanche/health-new') }], memory)

    const after = ask([UNKNOWN, { body: recorded('avalanche/liveness-old') }], memory)

    expect(after.reading.ok).toBe(true)
    expect(memory.livenessMethod).toBe('health.getLiveness')
  })

  test('may be unknown either way: then health is not offered, and no method is remembered', () => {
    const memory = newChainMemory()
    const conversation = ask([UNKNOWN, UNKNOWN], memory)

    expect(valueOf(conversation).checks).toMatchObject([{ offered: false }])
    expect(memory.livenessMethod).toBeNull()
  })

  test('is not in doubt because of another error', () => {
    const other = {
      body: { jsonrpc: '2.0', id: 1, error: { code: -32000, message: "couldn't unmarshal an argument" } },
    }

    expect(failureOf(ask([other]))).toMatchObject({ kind: 'rpc', code: -32000 })
  })
})

describe('a node of today', () => {
  test('is healthy, with every check by its name, and its last message on our clock', () => {
    const liveness = read('health-new')

    expect(liveness.healthy).toBe(true)
    expect(liveness.checks.map(({ name }) => name)).toEqual([
      'C',
      'P',
      'X',
      'bls',
      'bootstrapped',
      'database',
      'diskspace',
      'network',
      'router',
      'validation',
    ])
    expect(liveness.checks[0]).toEqual({
      name: 'C',
      healthy: true,
      error: null,
      contiguousFailures: 0,
      failingSince: null,
      checkedAt: Date.parse('2025-11-22T13:13:23.123Z'),
      durationMs: 0.016442,
    })
    // The check ran 9.877 s ago, and the message was 293.098 ms old then.
    expect(liveness.heartbeatAt).toBeCloseTo(NOW - 9877 - 293.098, 3)
  })

  test('that bootstraps is unhealthy, and says since when', () => {
    const liveness = read('health-bootstrapping')

    expect(liveness.healthy).toBe(false)
    expect(liveness.checks.find(({ name }) => name === 'bootstrapped')).toMatchObject({
      healthy: false,
      error: 'subnets not bootstrapped',
      contiguousFailures: 40,
      failingSince: Date.parse('2025-11-22T12:53:23.500Z'),
    })
  })

  test('without peers tells how long nothing came', () => {
    expect(read('health-unhealthy').heartbeatAt).toBeCloseTo(NOW - 9877 - 125_500, 3)
  })

  test('that has only just started has run no check: they fail, at no time', () => {
    const liveness = read('health-not-yet-run')

    expect(liveness.healthy).toBe(false)
    expect(liveness.checks).toHaveLength(2)
    expect(liveness.checks[0]).toMatchObject({ healthy: false, error: 'not yet run', checkedAt: null, durationMs: 0 })
    expect(liveness.heartbeatAt).toBeNull()
  })

  test.each(['health-empty-checks', 'health-null-checks'])('may give no evidence at all (%s)', (name) => {
    expect(read(name)).toEqual({ healthy: true, checks: [], heartbeatAt: null })
  })
})

describe('a node of 2020', () => {
  test('has its heartbeat in a check of its own', () => {
    const liveness = read('liveness-old')

    expect(liveness.healthy).toBe(true)
    expect(liveness.checks[1]).toMatchObject({
      name: 'network.validators.heartbeat',
      healthy: true,
      durationMs: 0.006296,
    })
    expect(liveness.heartbeatAt).toBe(1_763_817_200_000)
  })

  test('says what fails in an object', () => {
    const liveness = read('liveness-old-failing')

    expect(liveness.checks.map(({ error }) => error)).toEqual([
      'default subnet not bootstrapped',
      'heartbeat not detected for 303s',
    ])
    expect(liveness.checks[0]).toMatchObject({
      contiguousFailures: 3,
      failingSince: Date.parse('2025-11-22T13:11:53Z'),
    })
    expect(liveness.heartbeatAt).toBe(1_763_816_900_000)
  })
})

describe('the heartbeat', () => {
  test.each([3_600_000, -3_600_000])('is on our clock, though the node’s is off by %i ms', (skewMs) => {
    const skewed = (time: string) => new Date(Date.parse(time) + skewMs).toISOString()
    const now = reply({
      network: { message: { timeSinceLastMsgReceived: '2s' }, timestamp: skewed('2025-11-22T13:13:23Z') },
    })
    const old = reply({ 'network.validators.heartbeat': { message: { heartbeat: (NOW + skewMs - 12_000) / 1000 } } })

    for (const answer of [now, old]) {
      const { heartbeatAt } = valueOf(ask([{ ...answer, date: NOW + skewMs }]))
      expect(Math.abs((heartbeatAt ?? 0) - (NOW - 12_000))).toBeLessThanOrEqual(1000)
    }
  })

  test('from the future is kept as such: it shows a skewed clock', () => {
    const ahead = reply({ 'network.validators.heartbeat': { message: { heartbeat: NOW / 1000 + 3600 } } })
    const negative = reply({
      network: { message: { timeSinceLastMsgReceived: '-1h' }, timestamp: '2025-11-22T13:13:33Z' },
    })

    expect(valueOf(ask([ahead])).heartbeatAt).toBe(NOW + 3_600_000)
    expect(valueOf(ask([negative])).heartbeatAt).toBe(NOW + 3_600_000)
  })

  test.each([
    ['a text', { message: 'ok' }],
    ['a list', { message: [] }],
    ['no message', {}],
    ['no duration', { message: { timeSinceLastMsgReceived: 'never' } }],
    ['a number', { message: { timeSinceLastMsgReceived: 5 } }],
  ])('is unknown when the network check says %s', (_name, check) => {
    expect(valueOf(ask([reply({ network: check })])).heartbeatAt).toBeNull()
  })

  test('is unknown before the first message of an old node (0)', () => {
    expect(
      valueOf(ask([reply({ 'network.validators.heartbeat': { message: { heartbeat: 0 } } })])).heartbeatAt,
    ).toBeNull()
  })
})

describe('HTTP 503', () => {
  test('with a whole answer is that answer', () => {
    expect(read('health-unhealthy', { status: 503 }).healthy).toBe(false)
  })

  test('with the bare reply of a GET is that reply', () => {
    expect(read('health-unhealthy-get', { status: 503 }).healthy).toBe(false)
  })

  test('with anything else is HTTP 503', () => {
    for (const body of ['<html>', '', '{}', '[]', '{"healthy":"no"}']) {
      expect(failureOf(ask([{ body, status: 503 }]))).toEqual({ kind: 'http', status: 503 })
    }
  })

  test('from a chain that is not bootstrapped is no head', () => {
    const conversation = talk(avalanche.head({ ...TARGET, rpcPath: '/ext/bc/C/rpc' }, null, newChainMemory()), [
      { body: 'API call rejected because chain is not done bootstrapping\n', status: 503 },
    ])

    expect(failureOf(conversation)).toEqual({ kind: 'http', status: 503 })
    expect(conversation.requests[0]?.path).toBe('/ext/bc/C/rpc')
  })
})

describe('a health API that is not offered', () => {
  const HOUR = 3_600_000

  test.each<[string, readonly Scripted[]]>([
    ['switched off', [{ body: '404 page not found\n', status: 404 }]],
    ['not part of a plan', [{ body: '', status: 403 }]],
    ['without both methods', [UNKNOWN, UNKNOWN]],
  ])('does not make the node unhealthy, and is requested again after an hour: %s', (_, refusal) => {
    const memory = newChainMemory()
    const poll = (script: readonly Scripted[], now: number) =>
      inquire(avalanche.liveness(TARGET, null, memory, now), script)
    const refused = poll(refusal, 0)

    expect(valueOf(refused)).toMatchObject({ healthy: true, checks: [{ name: '/ext/health', offered: false }] })
    expect(poll([], HOUR - 1).requests).toEqual([])
    expect(valueOf(poll([{ body: recorded('avalanche/health-unhealthy') }], HOUR)).healthy).toBe(false)
    expect(valueOf(poll([{ body: recorded('avalanche/health-unhealthy') }], HOUR + 1)).healthy).toBe(false)
  })

  test('is requested again with each poll for ten minutes after the node answered, and then after an hour', () => {
    const MINUTE = 60_000
    const memory = newChainMemory()
    const poll = (script: readonly Scripted[], minutes: number) =>
      inquire(avalanche.liveness(TARGET, null, memory, minutes * MINUTE), script)
    const missing = [{ body: '404 page not found\n', status: 404 }]
    poll([{ body: recorded('avalanche/health-unhealthy') }], 0)

    for (const minutes of [1, 5, 9, 10]) expect(valueOf(poll(missing, minutes)).healthy).toBe(true)
    expect(poll([], 69).requests).toEqual([])
    expect(valueOf(poll([{ body: recorded('avalanche/health-unhealthy') }], 70)).healthy).toBe(false)
    expect(poll(missing, 71).requests).toHaveLength(1)
  })

  test('is none that fails', () => {
    expect(failureOf(ask([{ body: '', status: 500 }]))).toEqual({ kind: 'http', status: 500 })
  })
})

test('the head is the chain’s latest block, whatever coreth adds to it', () => {
  const conversation = talk(avalanche.head(TARGET, null, newChainMemory()), [
    { body: recorded('avalanche/block-coreth') },
  ])

  expect(valueOf(conversation)).toMatchObject({ height: 0x44aa2b1, timestamp: Date.parse('2025-11-22T13:13:23Z') })
})

test('the hash at a height is requested from the same path as the head', () => {
  const conversation = talk(
    avalanche.blockHash({ ...TARGET, rpcPath: '/ext/bc/C/rpc' }, null, 0x44aa2b1, newChainMemory()),
    [{ body: recorded('avalanche/block-coreth') }],
  )

  expect(valueOf(conversation)).toBe(`0x${'d'.repeat(64)}`)
  expect(conversation.requests.map(methodOf)).toEqual(['eth_getBlockByNumber'])
  expect(conversation.requests[0]?.path).toBe('/ext/bc/C/rpc')
})

describe('hostile replies', () => {
  test.each([
    [reply({}, 'yes'), 'healthy is neither true nor false'],
    [reply({}, null), 'healthy is neither true nor false'],
    [reply([]), 'checks is not a map'],
    [reply('ok'), 'checks is not a map'],
    [reply({ C: 'fine' }), 'a check is not an object'],
    [{ body: { jsonrpc: '2.0', id: 1, result: 7 } }, 'the health reply is not an object'],
  ])('are malformed: %j', (answer, what) => {
    expect(failureOf(ask([answer]))).toEqual({ kind: 'malformed', what })
  })

  test('of ten thousand names are read to the first thousand, those that fail before all others', () => {
    const checks = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`c${at}`, at % 1000 === 999 ? { error: 'broken' } : {}]),
    )

    const liveness = valueOf(ask([reply(checks)]))

    expect(liveness.checks).toHaveLength(1000)
    expect(liveness.checks.filter(({ healthy }) => !healthy)).toHaveLength(10)
    expect(liveness.checks[0]?.name).toBe('c999')
  })

  test('may name a check __proto__, which is a check like any other', () => {
    const body = '{"jsonrpc":"2.0","id":1,"result":{"healthy":true,"checks":{"__proto__":{"error":"x","polluted":1}}}}'

    const liveness = valueOf(ask([{ body }]))

    expect(liveness.checks).toMatchObject([{ name: '__proto__', healthy: false, error: 'x' }])
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('have their names and errors cut and made printable', () => {
    const [check] = valueOf(
      ask([reply({ [`\u0000\u202e${'n'.repeat(500)}`]: { error: `\ud800${'e'.repeat(500)}` } })]),
    ).checks

    expect(check?.name).toHaveLength(256)
    expect(check?.name).toMatch(/^\ufffd\ufffdn+$/)
    expect(check?.error).toMatch(/^\ufffde+$/)
  })

  test.each([
    ['1969-12-31T23:59:59Z', null],
    ['2026-11-22T13:13:33Z', null],
    ['yesterday', null],
    [0, null],
    ['2025-11-22T14:13:23+01:00', Date.parse('2025-11-22T13:13:23Z')],
  ])('have the timestamp %j read as %j', (timestamp, at) => {
    expect(valueOf(ask([reply({ C: { timestamp } })])).checks[0]?.checkedAt).toBe(at)
  })

  test.each([-1, 1.5, '5', 2 ** 60])('have %j contiguous failures read as none', (contiguousFailures) => {
    expect(valueOf(ask([reply({ C: { contiguousFailures } })])).checks[0]?.contiguousFailures).toBe(0)
  })

  test('keep a streak of failures although the node reports itself healthy', () => {
    expect(valueOf(ask([reply({ C: { contiguousFailures: 5 } })]))).toMatchObject({
      healthy: true,
      checks: [{ contiguousFailures: 5 }],
    })
  })

  test('of any JSON whatever are read or refused, never thrown over', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(200, 503), (any, check, status) => {
        const bodies = [any, { jsonrpc: '2.0', id: 1, result: any }]
        for (const body of bodies)
          expect(typeof ask([{ body: JSON.stringify(body), status }]).reading.ok).toBe('boolean')
        const { reading } = ask([reply({ network: check, 'network.validators.heartbeat': { message: check } })])
        if (reading.ok) expect(reading.value.heartbeatAt ?? NOW).toBeLessThanOrEqual(NOW)
      }),
    )
  })
})
