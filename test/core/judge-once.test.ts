import { expect, test } from 'vitest'
import { judgeRound } from '../../src/core/verdict/judge-single.ts'
import { bad, endpoint, good, head, network, pollResult } from '../support/network.ts'

const NOW = Date.UTC(2026, 0, 1)
const polled = (name: string, height: number) =>
  pollResult(endpoint(name), NOW, { heads: [{ shard: null, outcome: good(head(height, NOW - 3000)) }] })

test('a single round decides, and holds everybody to what all of them said, whoever was heard first', () => {
  const healths = judgeRound(network(), [polled('late', 988), polled('a', 1000), polled('b', 1000)], NOW)

  expect(healths.map(({ endpoint: { name }, verdict }) => [name, verdict])).toEqual([
    ['late', 'degraded'],
    ['a', 'up'],
    ['b', 'up'],
  ])
})

test('an endpoint that could not be asked for want of our own means is neither up nor down', () => {
  const outcome = bad({ kind: 'local-resources', code: 'EMFILE' })
  const unasked = pollResult(endpoint('unasked'), NOW, { heads: [{ shard: null, outcome }] })

  const healths = judgeRound(network(), [unasked, polled('a', 1000)], NOW)

  expect(healths.map(({ verdict }) => verdict)).toEqual([null, 'up'])
})
