import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { FAULT_KINDS, readFaultRequest, writeFault } from '../../src/simulator/fault.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { latestHeight, post, startNode } from './ask.ts'

async function start() {
  const clock = createFakeClock()
  return { clock, node: await startNode(clock, { family: 'ethereum' }, { name: 'own-1' }) }
}

/** What a kind cannot do without. */
const PARAMETERS: Record<string, object> = {
  lag: { blocks: 3 },
  regress: { blocks: 3 },
  'wrong-chain': { chain_id: 5 },
  'clock-skew': { by: '-90s' },
  slow: { delay: '2s' },
  flap: { up: '1m', down: '20s' },
  refuse: { for: '1s' },
}

describe('the control interface', () => {
  test('shows heights and faults', async () => {
    const { node } = await start()
    node.inject({ kind: 'slow', delayMs: 1500 }, 10_000)

    const status = await (await fetch(node.controlUrl)).json()

    expect(status).toEqual({
      name: 'own-1',
      family: 'ethereum',
      halted: false,
      heads: [
        {
          shard: null,
          height: node.height(),
          hash: node.chain.block(null, node.height()).hash,
          chain_height: node.height(),
        },
      ],
      faults: [
        {
          kind: 'slow',
          delay: '1500ms',
          since: new Date(node.chain.now()).toISOString(),
          until: new Date(node.chain.now() + 10_000).toISOString(),
        },
      ],
    })
  })

  test('injects a fault for a time', async () => {
    const { clock, node } = await start()

    const response = await post(`${node.controlUrl}/faults`, { kind: 'lag', blocks: 7, for: '30s' })
    const behind = node.chain.height(null) - (await latestHeight(node.url))
    await clock.advance(30_000)

    expect(response.status).toBe(201)
    expect(behind).toBe(7)
    expect(await latestHeight(node.url)).toBe(node.chain.height(null))
  })

  test('answers although the node itself hangs', async () => {
    const { node } = await start()
    node.inject({ kind: 'hang' })

    const healed = await fetch(`${node.controlUrl}/faults/hang`, { method: 'DELETE' })

    expect(healed.status).toBe(200)
    expect(node.faults()).toEqual([])
  })

  test('heals all at once', async () => {
    const { node } = await start()
    node.inject({ kind: 'hang' })
    node.inject({ kind: 'stall' })

    await fetch(`${node.controlUrl}/faults`, { method: 'DELETE' })

    expect(node.faults()).toEqual([])
  })

  test('mines', async () => {
    const { node } = await start()
    const before = node.height()

    await post(`${node.controlUrl}/mine`, { blocks: 5 })
    await post(`${node.controlUrl}/mine`, '')

    expect(node.height()).toBe(before + 6)
  })

  test.each(FAULT_KINDS)('takes %s, and shows it as it was ordered', (kind) => {
    const request = { kind, ...PARAMETERS[kind] }

    const read = readFaultRequest(request)

    expect(read).toMatchObject({ ok: true, fault: { kind } })
    const { for: _for, ...body } = request as Record<string, unknown>
    expect(read.ok && writeFault(read.fault)).toMatchObject(kind === 'flap' ? { kind, up: '60s', down: '20s' } : body)
  })

  test.each([
    ['{', 400, []],
    [{ kind: 'mischief' }, 422, ['kind']],
    [{ kind: 'lag' }, 422, ['blocks']],
    [{ kind: 'lag', blocks: -1 }, 422, ['blocks']],
    [{ kind: 'lag', blocks: 1, colour: 'red' }, 422, ['body']],
    [{ kind: 'slow', delay: 'soon' }, 422, ['delay']],
    [{ kind: 'hang', for: '-5s' }, 422, ['for']],
    [{ kind: 'refuse' }, 422, ['for']],
    [[], 422, ['kind']],
    [null, 422, ['kind']],
  ])('refuses %j with a problem document that names what is wrong', async (body, status, where) => {
    const { node } = await start()

    const response = await post(`${node.controlUrl}/faults`, body)
    const { problems = [], ...document } = (await response.json()) as { problems?: string[]; title: string }

    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(document).toMatchObject({ type: 'about:blank', status, title: expect.any(String) })
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(where)
    expect(node.faults()).toEqual([])
  })

  test.each([
    [{ family: 'multiversx', kind: 'proxy' }, 422],
    [{ family: 'multiversx' }, 422],
    [{ family: 'avalanche', generation: 'new' }, 422],
    [{ family: 'multiversx', kind: 'observer', shard: 1 }, 201],
    [{ family: 'ethereum' }, 201],
  ] as const)('of %o answers a fault of the state that only some nodes report with %i', async (kind, status) => {
    const node = await startNode(createFakeClock(), kind)
    const faults = ['syncing', 'few-peers', 'not-offered']

    const responses = await Promise.all(faults.map((fault) => post(`${node.controlUrl}/faults`, { kind: fault })))

    expect(responses.map((response) => response.status)).toEqual([status, status, status])
    expect(node.faults().length).toBe(status === 201 ? 3 : 0)
    for (const [at, response] of responses.entries()) {
      const { problems } = (await response.json()) as { problems?: string[] }
      if (status === 422) {
        expect(problems).toEqual([`kind: ${faults[at]} exists on ethereum nodes and multiversx observers only`])
      }
    }
  })

  test.each([
    ['GET', '/nothing', 404],
    ['GET', '/faults/hang/more', 404],
    ['DELETE', '/faults/mischief', 404],
    ['POST', '', 405],
    ['PUT', '/faults', 405],
    ['GET', '/mine', 405],
  ])('%s %s is %i', async (method, path, status) => {
    const { node } = await start()

    expect((await fetch(`${node.controlUrl}${path}`, { method })).status).toBe(status)
  })

  test.each([
    ['under a name that resolves to us', { host: 'rebound.example.org' }],
    ['of another origin', { origin: 'https://example.org' }],
  ])('is not for pages %s', async (_, headers) => {
    const { node } = await start()

    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest(node.controlUrl, { headers }, (response) => resolve(response.resume().statusCode))
      sent.on('error', reject).end()
    })

    expect(status).toBe(403)
  })
})
