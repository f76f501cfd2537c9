import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isWitnessFor, locationOf } from '../../src/core/host-location.ts'
import { createOwnNetwork, type HostPoll } from '../../src/core/observer/own-network.ts'

const at = (name: string) => locationOf(name.includes('.') ? name : `${name}.example.org`)
const INTERVAL = 10_000

/** Hosts that are polled in turn, one each second. */
function scene(...names: string[]) {
  const ownNetwork = createOwnNetwork()
  ownNetwork.configure(names.map(at), 3 * INTERVAL)
  let now = 0
  function poll(name: string, outcome: HostPoll['outcome'], lastsMs = 100, of = 'one'): HostPoll {
    now += 1000
    const one = {
      location: at(name),
      endpoint: `${name}/${of}`,
      startedAt: now - lastsMs,
      endedAt: now,
      outcome,
      hasNoRoute: false,
    }
    ownNetwork.record(one)
    return one
  }
  for (const name of names) poll(name, 'answered')
  return { ownNetwork, poll }
}

describe('the location of a host', () => {
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

  test('all spellings of this machine are one host, further loopback addresses are separate hosts', () => {
    expect(new Set(['localhost', '127.0.0.1', '[::1]'].map((host) => locationOf(host).host)).size).toBe(1)
    expect(locationOf('127.0.0.2').host).not.toBe(locationOf('127.0.0.1').host)
  })

  test('a distant host is a witness for a nearer one, never for itself, never the other way round', () => {
    expect(isWitnessFor(at('a'), at('10.0.0.1'))).toBe(true)
    expect(isWitnessFor(at('10.0.0.1'), at('a'))).toBe(false)
    expect(isWitnessFor(at('a'), at('a'))).toBe(false)
    expect(isWitnessFor(at('a'), at('b'))).toBe(true)
  })
})

describe('the fault of a host that was not reached', () => {
  test('is undecided until another host has been polled, and the node’s when that one answers', () => {
    const { ownNetwork, poll } = scene('a', 'b')
    const failed = poll('a', 'unreached')
    expect(ownNetwork.faultOf(failed)).toBe('undecided')

    poll('b', 'answered')
    expect([ownNetwork.faultOf(failed), ownNetwork.outage()]).toEqual(['node', null])
  })

  test('is ours when no host is left that answers', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    const failed = [poll('a', 'unreached'), poll('b', 'unreached'), poll('c', 'unreached')]

    expect(failed.map(ownNetwork.faultOf)).toEqual(['own', 'own', 'own'])
    expect(ownNetwork.outage()).toEqual({ dns: false, hosts: 3 })
  })

  test('is taken for ours when the host answers again before any other host was polled', () => {
    const { ownNetwork, poll } = scene('a', 'b')
    const failed = [poll('a', 'unreached'), poll('a', 'unreached')]
    poll('a', 'answered')
    expect(failed.map(ownNetwork.faultOf)).toEqual(['own', 'own'])

    const first = poll('a', 'unreached')
    poll('b', 'answered')
    const second = poll('a', 'unreached')
    poll('a', 'answered')
    expect([first, second].map(ownNetwork.faultOf)).toEqual(['node', 'node'])
  })

  test('is the node’s where there is no other host', () => {
    const { ownNetwork, poll } = scene('a')
    expect(ownNetwork.faultOf(poll('a', 'unreached'))).toBe('node')
    expect(ownNetwork.outage()).toBeNull()
  })

  test('is the node’s for hosts that never answered', () => {
    const ownNetwork = createOwnNetwork()
    ownNetwork.configure([at('a'), at('b')], 3 * INTERVAL)
    const polls = ['a', 'b'].map((name) => ({
      location: at(name),
      endpoint: name,
      startedAt: 0,
      endedAt: 10,
      outcome: 'unreached' as const,
      hasNoRoute: false,
    }))
    for (const one of polls) ownNetwork.record(one)

    expect(polls.map(ownNetwork.faultOf)).toEqual(['node', 'node'])
    expect(ownNetwork.outage()).toBeNull()
  })

  test('is ours for hosts that answered in an earlier run', () => {
    const ownNetwork = createOwnNetwork()
    ownNetwork.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) ownNetwork.expect(at(name), 0)
    const polls = ['a', 'b'].map((name) => ({
      location: at(name),
      endpoint: name,
      startedAt: 1,
      endedAt: 10,
      outcome: 'unreached' as const,
      hasNoRoute: false,
    }))
    for (const one of polls) ownNetwork.record(one)

    expect(polls.map(ownNetwork.faultOf)).toEqual(['own', 'own'])
  })

  test('is ours for a poll that began before our network was back, however late it ends', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    for (const name of ['a', 'b', 'c']) poll(name, 'unreached')
    poll('a', 'answered')
    const late = poll('b', 'unreached', 4000)
    poll('c', 'answered')

    expect(ownNetwork.faultOf(late)).toBe('own')
    const recovered = poll('b', 'unreached')
    poll('a', 'answered')
    expect(ownNetwork.faultOf(recovered)).toBe('node')
  })

  test('an answer of a near host says nothing about distant ones', () => {
    const { ownNetwork, poll } = scene('127.0.0.1', 'a', 'b')
    const failed = [poll('a', 'unreached'), poll('127.0.0.1', 'answered'), poll('b', 'unreached')]

    expect([ownNetwork.faultOf(failed[0] as HostPoll), ownNetwork.faultOf(failed[2] as HostPoll)]).toEqual([
      'own',
      'own',
    ])
  })

  test('names that cannot be resolved while addresses answer are our name server’s fault', () => {
    const { ownNetwork, poll } = scene('a', 'b', '198.51.100.1')
    const failed = poll('a', 'dns')
    poll('198.51.100.1', 'answered')
    poll('b', 'dns')

    expect([ownNetwork.faultOf(failed), ownNetwork.outage()]).toEqual(['own', { dns: true, hosts: 2 }])
  })

  test('one name that cannot be resolved while another can is the node’s, unless no host is left that answers', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    const failed = poll('a', 'dns')
    poll('b', 'unreached')
    expect(ownNetwork.faultOf(failed)).toBe('node')

    poll('c', 'unreached')
    expect(ownNetwork.faultOf(poll('a', 'dns'))).toBe('own')
  })

  test('is undecided for the only distant host until a near one has been polled: ours if that fails too', () => {
    for (const outcome of ['answered', 'unreached'] as const) {
      const { ownNetwork, poll } = scene('10.0.0.1', 'a')
      const failed = poll('a', 'unreached')
      expect(ownNetwork.faultOf(failed)).toBe('undecided')

      poll('10.0.0.1', outcome)
      expect(ownNetwork.faultOf(failed)).toBe(outcome === 'answered' ? 'node' : 'own')
    }
  })

  test('a host that is no longer configured is not waited for', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    ownNetwork.configure([at('a'), at('b')], 3 * INTERVAL)
    for (const name of ['a', 'b']) poll(name, 'unreached')

    expect(ownNetwork.outage()).toEqual({ dns: false, hosts: 2 })
  })

  test('an outage is over for who polls no host any more', () => {
    const { ownNetwork, poll } = scene('a', 'b')
    for (const name of ['a', 'b']) poll(name, 'unreached')
    expect(ownNetwork.outage()).toEqual({ dns: false, hosts: 2 })

    ownNetwork.configure([], 3 * INTERVAL)

    expect(ownNetwork.outage()).toBeNull()
  })

  test('an outage is over once none of its hosts is polled any more, while others are', () => {
    for (const [outcome, others] of [
      ['unreached', ['127.0.0.1']],
      ['dns', ['198.51.100.1', '198.51.100.2']],
    ] as const) {
      const { ownNetwork, poll } = scene('a', 'b', ...others)
      for (const name of ['a', 'b']) poll(name, outcome)
      expect(ownNetwork.outage()).toEqual({ dns: outcome === 'dns', hosts: 2 })

      ownNetwork.configure(others.map(at), 3 * INTERVAL)

      expect(ownNetwork.outage()).toBeNull()
    }
  })

  test('a dead endpoint on each of two hosts that otherwise answer is no outage of ours', () => {
    const { ownNetwork, poll } = scene('a', 'b')
    for (let round = 0; round < 5; round++) {
      poll('a', 'answered', 100, 'one')
      poll('b', 'answered', 100, 'one')
      const failed = [poll('a', 'unreached', 100, 'dead'), poll('b', 'unreached', 100, 'dead')]
      expect(ownNetwork.outage()).toBeNull()
      poll('a', 'answered', 100, 'one')
      expect(failed.map(ownNetwork.faultOf)).toEqual(['node', 'node'])
    }
  })

  test('a host that has not been polled for long is not waited for', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    for (let time = 0; time < 40; time++) {
      poll('a', 'unreached')
      poll('b', 'unreached')
    }
    expect(ownNetwork.outage()).toEqual({ dns: false, hosts: 2 })
  })

  test('nor is it because a host that answered before it was polled since', () => {
    const { ownNetwork, poll } = scene('a', 'b', 'c')
    for (let time = 0; time < 25; time++) poll('c', 'unreached')
    poll('a', 'unreached', 100, 'dead')
    for (let time = 0; time < 5; time++) poll('c', 'unreached')
    expect(ownNetwork.outage()).toBeNull()

    poll('a', 'unreached')

    expect(ownNetwork.outage()).toEqual({ dns: false, hosts: 2 })
  })
})

describe('for any polls', () => {
  const NAMES = ['a', 'b', 'c', '10.0.0.1', '127.0.0.1']
  const anyPolls = fc.array(
    fc.record({
      name: fc.constantFrom(...NAMES),
      outcome: fc.constantFrom<HostPoll['outcome']>('answered', 'unreached', 'dns'),
      lastsMs: fc.integer({ min: 1, max: 5000 }),
    }),
    { maxLength: 60 },
  )

  test('an answer is always valid, and a failure is the node’s as soon as a host as far away answers a later poll', () => {
    fc.assert(
      fc.property(anyPolls, (polls) => {
        const { ownNetwork, poll } = scene(...NAMES)
        for (const { name, outcome, lastsMs } of polls) {
          const one = poll(name, outcome, lastsMs)
          if (outcome === 'answered') expect(ownNetwork.faultOf(one)).toBe('node')
        }
        // Two rounds of answers end any outage.
        for (let round = 0; round < 2; round++) for (const name of NAMES) poll(name, 'answered')
        expect(ownNetwork.outage()).toBeNull()
        const failed = poll('a', 'unreached')
        expect(ownNetwork.faultOf(failed)).toBe('undecided')
        poll('b', 'answered')
        expect(ownNetwork.faultOf(failed)).toBe('node')
      }),
    )
  })

  test('while one distant host answers every poll, no failure of another host is ours for long', () => {
    fc.assert(
      fc.property(anyPolls, (polls) => {
        const { ownNetwork, poll } = scene('well', ...NAMES)
        for (const { name, outcome, lastsMs } of polls) {
          const one = poll(name, outcome, Math.min(lastsMs, 900))
          poll('well', 'answered')
          if (outcome === 'unreached') expect(ownNetwork.faultOf(one)).toBe('node')
          expect(ownNetwork.outage()?.dns ?? true).toBe(true)
        }
      }),
    )
  })
})
