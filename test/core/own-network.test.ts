import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createOwnNetwork,
  type HostPoll,
  isWitnessFor,
  locationOf,
  type OwnNetwork,
} from '../../src/core/observer/own-network.ts'

const at = (name: string) => locationOf(name.includes('.') ? name : `${name}.example.org`)
const INTERVAL = 10_000

/** Hosts that are asked in turn, a second each. */
function scene(...names: string[]) {
  const reach: OwnNetwork = createOwnNetwork()
  reach.configure(names.map(at), 3 * INTERVAL)
  let now = 0
  function visit(name: string, outcome: HostPoll['outcome'], lastsMs = 100, of = 'one'): HostPoll {
    now += 1000
    const one = { location: at(name), endpoint: `${name}/${of}`, startedAt: now - lastsMs, endedAt: now, outcome }
    reach.record(one)
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
  ])('%s is %s', (host, zone, hasName) => {
    expect(locationOf(host)).toMatchObject({ zone, hasName })
  })

  test('this machine is one host however it is written, but other loopback addresses are others', () => {
    expect(new Set(['localhost', '127.0.0.1', '[::1]'].map((host) => locationOf(host).host)).size).toBe(1)
    expect(locationOf('127.0.0.2').host).not.toBe(locationOf('127.0.0.1').host)
  })

  test('who is further away can vouch for who is nearer, never for itself, never the other way round', () => {
    expect(isWitnessFor(at('a'), at('10.0.0.1'))).toBe(true)
    expect(isWitnessFor(at('10.0.0.1'), at('a'))).toBe(false)
    expect(isWitnessFor(at('a'), at('a'))).toBe(false)
    expect(isWitnessFor(at('a'), at('b'))).toBe(true)
  })
})

describe('whose fault it is that a host was not reached', () => {
  test('is open until another host has been asked, and its own when that one answers', () => {
    const { reach, visit } = scene('a', 'b')
    const failed = visit('a', 'unreached')
    expect(reach.faultOf(failed)).toBe('undecided')

    visit('b', 'answered')
    expect([reach.faultOf(failed), reach.outage()]).toEqual(['node', null])
  })

  test('is ours when no host is left that answers', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    const failed = [visit('a', 'unreached'), visit('b', 'unreached'), visit('c', 'unreached')]

    expect(failed.map(reach.faultOf)).toEqual(['own', 'own', 'own'])
    expect(reach.outage()).toEqual({ dns: false, hosts: 3 })
  })

  test('is its own where there is no other', () => {
    const { reach, visit } = scene('a')
    expect(reach.faultOf(visit('a', 'unreached'))).toBe('node')
    expect(reach.outage()).toBeNull()
  })

  test('is its own for hosts that never answered', () => {
    const reach = createOwnNetwork()
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    const visits = ['a', 'b'].map((name) => ({
      location: at(name),
      endpoint: name,
      startedAt: 0,
      endedAt: 10,
      outcome: 'unreached' as const,
    }))
    for (const one of visits) reach.record(one)

    expect(visits.map(reach.faultOf)).toEqual(['node', 'node'])
    expect(reach.outage()).toBeNull()
  })

  test('is ours for hosts that answered in an earlier run', () => {
    const reach = createOwnNetwork()
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) reach.expect(at(name), 0)
    const visits = ['a', 'b'].map((name) => ({
      location: at(name),
      endpoint: name,
      startedAt: 1,
      endedAt: 10,
      outcome: 'unreached' as const,
    }))
    for (const one of visits) reach.record(one)

    expect(visits.map(reach.faultOf)).toEqual(['own', 'own'])
  })

  test('is ours for what began before our network was back, however late it ends', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    for (const name of ['a', 'b', 'c']) visit(name, 'unreached')
    visit('a', 'answered')
    const late = visit('b', 'unreached', 4000)
    visit('c', 'answered')

    expect(reach.faultOf(late)).toBe('own')
    const fair = visit('b', 'unreached')
    visit('a', 'answered')
    expect(reach.faultOf(fair)).toBe('node')
  })

  test('a near host that answers says nothing of distant ones', () => {
    const { reach, visit } = scene('127.0.0.1', 'a', 'b')
    const failed = [visit('a', 'unreached'), visit('127.0.0.1', 'answered'), visit('b', 'unreached')]

    expect([reach.faultOf(failed[0] as HostPoll), reach.faultOf(failed[2] as HostPoll)]).toEqual(['own', 'own'])
  })

  test('names that cannot be found, while addresses answer, are our name server’s fault', () => {
    const { reach, visit } = scene('a', 'b', '198.51.100.1')
    const failed = visit('a', 'dns')
    visit('198.51.100.1', 'answered')
    visit('b', 'dns')

    expect([reach.faultOf(failed), reach.outage()]).toEqual(['own', { dns: true, hosts: 2 }])
  })

  test('one name that cannot be found, while another can, is its own', () => {
    const { reach, visit } = scene('a', 'b')
    const failed = visit('a', 'dns')
    visit('b', 'unreached')
    expect(reach.faultOf(failed)).toBe('node')
  })

  test('a host that is no longer configured is not waited for', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    reach.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) visit(name, 'unreached')

    expect(reach.outage()).toEqual({ dns: false, hosts: 2 })
  })

  test('a dead endpoint on each of two hosts that answer otherwise is no outage of ours', () => {
    const { reach, visit } = scene('a', 'b')
    for (let round = 0; round < 5; round++) {
      visit('a', 'answered', 100, 'one')
      visit('b', 'answered', 100, 'one')
      const failed = [visit('a', 'unreached', 100, 'dead'), visit('b', 'unreached', 100, 'dead')]
      expect(reach.outage()).toBeNull()
      visit('a', 'answered', 100, 'one')
      expect(failed.map(reach.faultOf)).toEqual(['node', 'node'])
    }
  })

  test('nor one that has not been asked for long', () => {
    const { reach, visit } = scene('a', 'b', 'c')
    for (let time = 0; time < 40; time++) {
      visit('a', 'unreached')
      visit('b', 'unreached')
    }
    expect(reach.outage()).toEqual({ dns: false, hosts: 2 })
  })
})

describe('for any visits', () => {
  const NAMES = ['a', 'b', 'c', '10.0.0.1', '127.0.0.1']
  const anyVisits = fc.array(
    fc.record({
      name: fc.constantFrom(...NAMES),
      outcome: fc.constantFrom<HostPoll['outcome']>('answered', 'unreached', 'dns'),
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
          if (outcome === 'answered') expect(reach.faultOf(one)).toBe('node')
        }
        // Two rounds of answers end whatever cut there was.
        for (let round = 0; round < 2; round++) for (const name of NAMES) visit(name, 'answered')
        expect(reach.outage()).toBeNull()
        const failed = visit('a', 'unreached')
        expect(reach.faultOf(failed)).toBe('undecided')
        visit('b', 'answered')
        expect(reach.faultOf(failed)).toBe('node')
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
          if (outcome === 'unreached') expect(reach.faultOf(one)).toBe('node')
          expect(reach.outage()?.dns ?? true).toBe(true)
        }
      }),
    )
  })
})
