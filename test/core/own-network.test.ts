import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canVouch,
  createOwnNetwork,
  type OwnNetwork,
  type Visit,
  whereaboutsOf,
} from '../../src/core/observer/own-network.ts'

const at = (name: string) => whereaboutsOf(name.includes('.') ? name : `${name}.example.org`)
const INTERVAL = 10_000

/** Hosts that are asked in turn, a second each. */
function scene(...names: string[]) {
  const reach: OwnNetwork = createOwnNetwork()
  reach.configure(names.map(at), 3 * INTERVAL)
  let now = 0
  function visit(name: string, outcome: Visit['outcome'], lastsMs = 100, of = 'one'): Visit {
    now += 1000
    const one = { at: at(name), of: `${name}/${of}`, startedAt: now - lastsMs, endedAt: now, outcome }
    reach.note(one)
    return one
  }
  for (const name of names) visit(name, 'answered')
  return { reach, visit }
}

describe('where a host is', () => {
  test.each([
    ['localhost', 'loopback', false],
    ['127.0.0.1', 'loopback', false],
    ['127.0.0.5', 'loopback', false],
    ['[::1]', 'loopback', false],
    ['10.1.2.3', 'private', false],
    ['172.16.0.1', 'private', false],
    ['172.32.0.1', 'public', false],
    ['192.168.1.1', 'private', false],
    ['100.64.0.1', 'private', false],
    ['[fd00::1]', 'private', false],
    ['[2001:db8::1]', 'public', false],
    ['node-1', 'private', true],
    ['node.lan', 'private', true],
    ['rpc.example.org', 'public', true],
    ['8.8.8.8', 'public', false],
  ])('%s is %s', (host, zone, named) => {
    expect(whereaboutsOf(host)).toMatchObject({ zone, named })
  })

  test('this machine is one host however it is written, but other loopback addresses are others', () => {
    expect(new Set(['localhost', '127.0.0.1', '[::1]'].map((host) => whereaboutsOf(host).host)).size).toBe(1)
    expect(whereaboutsOf('127.0.0.2').host).not.toBe(whereaboutsOf('127.0.0.1').host)
  })

  test('who is further away can vouch for who is nearer, never for itself, never the other way round', () => {
    expect(canVouch(at('a'), at('10.0.0.1'))).toBe(true)
    expect(canVouch(at('10.0.0.1'), at('a'))).toBe(false)
    expect(canVouch(at('a'), at('a'))).toBe(false)
    expect(canVouch(at('a'), at('b'))).toBe(true)
  })
})

describe('whose fault it is that a host was not reached', () => {
  test('is open until another host has been asked, and its own when that one answers', () => {
    const { reach, visit } = scene('a', 'b')
    const failed = visit('a', 'unreached')
    expect(reach.rule(failed)).toBe('undecided')

    visit('b', 'answered')
    expect([reach.rule(failed), reach.cut()]).toEqual(['believed', null])
  })

  test('is ours when no host is left that answers', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    const failed = [visit('a', 'unreached'), visit('b', 'unreached'), visit('c', 'unreached')]

    expect(failed.map(reach.rule)).toEqual(['ours', 'ours', 'ours'])
    expect(reach.cut()).toEqual({ dns: false, hosts: 3 })
  })

  test('is its own where there is no other', () => {
    const { reach, visit } = scene('a')
    expect(reach.rule(visit('a', 'unreached'))).toBe('believed')
    expect(reach.cut()).toBeNull()
  })

  test('is its own for hosts that never answered', () => {
    const reach = createOwnNetwork()
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    const visits = ['a', 'b'].map((name) => ({
      at: at(name),
      of: name,
      startedAt: 0,
      endedAt: 10,
      outcome: 'unreached' as const,
    }))
    for (const one of visits) reach.note(one)

    expect(visits.map(reach.rule)).toEqual(['believed', 'believed'])
    expect(reach.cut()).toBeNull()
  })

  test('is ours for hosts that answered in an earlier run', () => {
    const reach = createOwnNetwork()
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) reach.expect(at(name), 0)
    const visits = ['a', 'b'].map((name) => ({
      at: at(name),
      of: name,
      startedAt: 1,
      endedAt: 10,
      outcome: 'unreached' as const,
    }))
    for (const one of visits) reach.note(one)

    expect(visits.map(reach.rule)).toEqual(['ours', 'ours'])
  })

  test('is ours for what began before our network was back, however late it ends', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    for (const name of ['a', 'b', 'c']) visit(name, 'unreached')
    visit('a', 'answered')
    const late = visit('b', 'unreached', 4000)
    visit('c', 'answered')

    expect(reach.rule(late)).toBe('ours')
    const fair = visit('b', 'unreached')
    visit('a', 'answered')
    expect(reach.rule(fair)).toBe('believed')
  })

  test('a near host that answers says nothing of distant ones', () => {
    const { reach, visit } = scene('127.0.0.1', 'a', 'b')
    const failed = [visit('a', 'unreached'), visit('127.0.0.1', 'answered'), visit('b', 'unreached')]

    expect([reach.rule(failed[0] as Visit), reach.rule(failed[2] as Visit)]).toEqual(['ours', 'ours'])
  })

  test('names that cannot be found, while addresses answer, are our name server’s fault', () => {
    const { reach, visit } = scene('a', 'b', '198.51.100.1')
    const failed = visit('a', 'dns')
    visit('198.51.100.1', 'answered')
    visit('b', 'dns')

    expect([reach.rule(failed), reach.cut()]).toEqual(['ours', { dns: true, hosts: 2 }])
  })

  test('one name that cannot be found, while another can, is its own', () => {
    const { reach, visit } = scene('a', 'b')
    const failed = visit('a', 'dns')
    visit('b', 'unreached')
    expect(reach.rule(failed)).toBe('believed')
  })

  test('a host that is no longer configured is not waited for', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) visit(name, 'unreached')

    expect(reach.cut()).toEqual({ dns: false, hosts: 2 })
  })

  test('a dead endpoint on each of two hosts that answer otherwise is no outage of ours', () => {
    const { reach, visit } = scene('a', 'b')
    for (let round = 0; round < 5; round++) {
      visit('a', 'answered', 100, 'one')
      visit('b', 'answered', 100, 'one')
      const failed = [visit('a', 'unreached', 100, 'dead'), visit('b', 'unreached', 100, 'dead')]
      expect(reach.cut()).toBeNull()
      visit('a', 'answered', 100, 'one')
      expect(failed.map(reach.rule)).toEqual(['believed', 'believed'])
    }
  })

  test('nor one that has not been asked for long', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    for (let time = 0; time < 40; time++) {
      visit('a', 'unreached')
      visit('b', 'unreached')
    }
    expect(reach.cut()).toEqual({ dns: false, hosts: 2 })
  })
})

describe('for any visits', () => {
  const NAMES = ['a', 'b', 'c', '10.0.0.1', '127.0.0.1']
  const anyVisits = fc.array(
    fc.record({
      name: fc.constantFrom(...NAMES),
      outcome: fc.constantFrom<Visit['outcome']>('answered', 'unreached', 'dns'),
      lastsMs: fc.integer({ min: 1, max: 5000 }),
    }),
    { maxLength: 60 },
  )

  test('an answer is always believed, and a failure is believed as soon as a host as far away answers in a later poll', () => {
    fc.assert(
      fc.property(anyVisits, (visits) => {
        const { reach, visit } = scene(...NAMES)
        for (const { name, outcome, lastsMs } of visits) {
          const one = visit(name, outcome, lastsMs)
          if (outcome === 'answered') expect(reach.rule(one)).toBe('believed')
        }
        // Two rounds of answers end whatever cut there was.
        for (let round = 0; round < 2; round++) for (const name of NAMES) visit(name, 'answered')
        expect(reach.cut()).toBeNull()
        const failed = visit('a', 'unreached')
        expect(reach.rule(failed)).toBe('undecided')
        visit('b', 'answered')
        expect(reach.rule(failed)).toBe('believed')
      }),
    )
  })

  test('while one distant host answers every poll, no other’s failure is ours for long', () => {
    fc.assert(
      fc.property(anyVisits, (visits) => {
        const { reach, visit } = scene('well', ...NAMES)
        for (const { name, outcome, lastsMs } of visits) {
          const one = visit(name, outcome, Math.min(lastsMs, 900))
          visit('well', 'answered')
          if (outcome === 'unreached') expect(reach.rule(one)).toBe('believed')
          expect(reach.cut()?.dns ?? true).toBe(true)
        }
      }),
    )
  })
})
