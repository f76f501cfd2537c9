import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Family } from '../../src/core/network.ts'
import { classify, type UnclassifiedRequest } from '../../src/gateway/request/classify.ts'
import type { Surface } from '../../src/gateway/request/route.ts'

interface Circumstances extends Partial<Omit<UnclassifiedRequest, 'call'>> {
  readonly method: string
  readonly params?: unknown
  /** The JSON text, where it matters how it is written. */
  readonly text?: string
}

function ask({ method, params, text, ...others }: Circumstances) {
  const written = text ?? (params === undefined ? null : JSON.stringify(params))
  return classify({
    family: 'avalanche',
    surface: 'chain',
    extraMethods: [],
    adminAllowed: true,
    ...others,
    call: { id: '1', isNotification: false, method, params: written },
  })
}

const HASH = `0x${'ab'.repeat(32)}`

describe('the default list', () => {
  const VALID: Record<Exclude<Surface, 'other-chain'>, readonly (readonly [string, unknown?])[]> = {
    chain: [
      ['eth_getBlockByNumber', ['latest', false]],
      ['eth_getTransactionByHash', [HASH]],
      ['eth_chainId'],
      ['eth_blockNumber', []],
      ['net_version', []],
      ['web3_clientVersion'],
    ],
    health: [
      ['health.getLiveness'],
      ['health.health', {}],
      ['health.readiness', { tags: ['x'] }],
      ['health.liveness', [{}]],
    ],
    admin: [['admin.alias', { endpoint: 'bc/C', alias: 'my-chain' }]],
  }
  const surfaces = ['chain', 'health', 'admin'] as const

  test.each(surfaces)('of the %s surface is allowed there, and nowhere else', (surface) => {
    for (const [method, params] of VALID[surface]) {
      for (const family of ['ethereum', 'avalanche', 'multiversx'] as const satisfies Family[]) {
        for (const used of surfaces) {
          const belongs = used === surface && (family === 'avalanche' || (family === 'ethereum' && surface === 'chain'))
          const outcome = ask({ method, params, family, surface: used })

          expect([method, family, used, outcome.kind]).toEqual([
            method,
            family,
            used,
            belongs ? 'operation' : 'unknown-method',
          ])
          if (outcome.kind === 'operation') expect(outcome.operation.name).toBe(method)
        }
      }
    }
  })

  test.each([
    '',
    'eth_chainid',
    'ETH_CHAINID',
    'eth_chainId ',
    'eth_chainId\u0000',
    'eth_call',
    'eth_sendRawTransaction',
    'eth_getLogs',
    'health.getLiveness',
    'rpc.discover',
    '__proto__',
    'constructor',
    'toString',
  ])('has no %j on the chain', (method) => {
    expect(ask({ method })).toMatchObject({ kind: 'unknown-method' })
  })

  test.each([
    'admin.getConfig',
    'admin.aliasChain',
    'admin.Alias',
    'admin.dbGet',
    'admin.getChainAliases',
    'health.health',
  ])('has no %s for the admin API, even for one who may all', (method) => {
    expect(ask({ method, surface: 'admin', extraMethods: ['*', 'admin.*', method, 'admin.getConfig'] })).toMatchObject({
      kind: 'unknown-method',
    })
  })

  test.each(['eth_chainId', 'eth_blockNumber', 'avm.getUTXOs', 'platform.getCurrentValidators', 'avax.getAtomicTx'])(
    'has %s for another chain behind an alias',
    (method) => {
      expect(ask({ method, surface: 'other-chain' }).kind).toBe('operation')
    },
  )

  test.each([
    'eth_call',
    'avm.issueTx',
    'avm.getutxos',
    'avm.get',
    'keystore.getUser',
    'admin.getConfig',
    'Admin.getConfig',
    'wallet.getTx',
    'health.health',
    'avm.getTx.x',
  ])('has no %s for another chain behind an alias', (method) => {
    expect(ask({ method, surface: 'other-chain' })).toMatchObject({ kind: 'unknown-method' })
  })

  test('has admin.alias for those alone who may', () => {
    const call = { method: 'admin.alias', params: { endpoint: 'bc/C', alias: 'x' }, surface: 'admin' } as const

    expect(ask({ ...call, adminAllowed: false })).toMatchObject({ kind: 'forbidden' })
    expect(ask({ ...call, params: undefined, adminAllowed: false })).toMatchObject({ kind: 'forbidden' })
    expect(ask({ ...call, adminAllowed: false, extraMethods: ['*', 'admin.alias', 'admin.*'] })).toMatchObject({
      kind: 'forbidden',
    })
    expect(ask({ ...call, adminAllowed: true }).kind).toBe('operation')
  })
})

describe("a caller's methods", () => {
  test.each([
    ['avm.issueTx', ['avm.issueTx'], true],
    ['avm.issueTx', ['avm.*'], true],
    ['avm.send', ['avm.send'], true],
    ['eth_call', ['eth_*'], true],
    ['avm.issueTx', ['*'], false],
    ['platform.importKey', ['platform.*'], false],
    ['avm.createAddress', ['avm.*'], false],
    ['myvm.signMessage', ['myvm.*'], false],
    ['platform.unlockAccount', ['platform.*'], false],
    ['evm.setLogLevel', ['evm.*'], false],
    ['admin.dbGet', ['admin.dbGet', 'admin.*'], false],
    ['keystore.exportUser', ['keystore.exportUser', 'keystore.*'], false],
  ])('decide about %s for another chain: %j', (method, extraMethods, isAllowed) => {
    const { kind } = ask({ method, extraMethods, surface: 'other-chain' })

    expect(kind).toBe(isAllowed ? 'operation' : 'unknown-method')
  })

  test.each([
    ['eth_call', ['eth_call']],
    ['eth_call', ['net_peerCount', 'eth_*']],
    ['eth_getLogs', ['eth_get*']],
    ['debug_traceTransaction', ['debug_*']],
    ['debug_traceTransaction', ['*', 'debug_trace*']],
    ['eth_sendRawTransaction', ['*']],
    ['trace_block', ['*']],
  ])('allow %s by %j', (method, extraMethods) => {
    expect(ask({ method, extraMethods, text: '[1, 2]' })).toMatchObject({
      kind: 'operation',
      operation: { name: 'other' },
      canonical: `${method} [1, 2]`,
    })
  })

  test.each([
    ['eth_call', ['eth_cal', 'eth_call_', 'eth_cal_*', 'net_*', 'GET /eth_call']],
    ['eth_callMany', ['eth_call']],
    ['Eth_call', ['eth_*']],
    ['rpc.discover', ['rpc.discover', 'rpc.*', 'rpc*', '*']],
    ['admin_peers', ['*']],
    ['debug_setHead', ['*']],
    ['personal_unlockAccount', ['*']],
    ['engine_forkchoiceUpdatedV3', ['*']],
    ['anvil_setBalance', ['*']],
    ['health.health2', ['*']],
    ['admin.getConfig', ['admin.*']],
    ['health.secret', ['health.*']],
    ['eth_x","params":[],"method":"admin_peers', ['eth_*']],
    ['eth_x\n', ['eth_*']],
    ['eth_é', ['eth_*']],
    [`eth_${'x'.repeat(200)}`, ['eth_*']],
  ])('do not allow %j on the chain by %j', (method, extraMethods) => {
    expect(ask({ method, extraMethods })).toMatchObject({ kind: 'unknown-method' })
  })

  const SIGNING = [
    'eth_sendTransaction',
    'eth_sendPrivateTransaction',
    'eth_sign',
    'eth_signTransaction',
    'eth_signTypedData',
    'eth_signTypedData_v4',
    'eth_fillTransaction',
    'eth_submitWork',
    'eth_submitHashrate',
    'eth_resend',
    'eth_accounts',
    'eth_requestAccounts',
    'eth_getEncryptionPublicKey',
    'eth_decrypt',
    'eth_SENDTRANSACTION',
    'eth_Sign',
  ]
  const ADMINISTERING = [
    'account_signTransaction',
    'admin_addPeer',
    'anvil_setBalance',
    'clique_propose',
    'conductor_pause',
    'debug_setHead',
    'debug_chaindbCompact',
    'debug_traceBlockFromFile',
    'debug_standardTraceBlockToFile',
    'debug_writeMemProfile',
    'eea_sendRawTransaction',
    'engine_newPayloadV4',
    'eth_getVoteOnHash',
    'ibft_proposeValidatorVote',
    'istanbul_propose',
    'miner_start',
    'miner_setEtherbase',
    'opp2p_blockPeer',
    'parity_setMinGasPrice',
    'perm_addNodesToAllowlist',
    'personal_unlockAccount',
    'plugins_reloadPluginConfig',
    'priv_getTransaction',
    'qbft_proposeValidatorVote',
    'quorumExtension_extendContract',
    'quorumPermission_addOrg',
    'raft_removePeer',
    'secretstore_signRawHash',
    'signer_approve',
    'testing_buildBlockV1',
    'txpool_clear',
  ]

  test.each([...SIGNING, ...ADMINISTERING])('that are wildcards never open %s, whatever its case', (method) => {
    const [namespace = '', name = ''] = method.split(/_(.*)/)
    const spellings = [
      method,
      `${namespace.toUpperCase()}_${name}`,
      `${namespace[0]?.toUpperCase()}${namespace.slice(1)}_${name}`,
      `${namespace}_${name.toUpperCase()}`,
      `${namespace}_${name[0]?.toUpperCase()}${name.slice(1)}`,
    ]

    for (const spelling of spellings) {
      const space = spelling.split('_')[0]
      for (const wildcard of ['*', 'e*', `${space}_*`, `${space}*`, `${spelling.slice(0, -1)}*`]) {
        expect([spelling, wildcard, ask({ method: spelling, extraMethods: [wildcard] }).kind]).toEqual([
          spelling,
          wildcard,
          'unknown-method',
        ])
      }
    }
    // By its own name it can be allowed.
    expect(ask({ method, extraMethods: [method] }).kind).toBe('operation')
  })

  const page = readFileSync(join(import.meta.dirname, '../../docs/gateway.md'), 'utf8')
  const [, closed = ''] = /No wildcard opens the namespaces (`[^.]+), nor any namespace/.exec(page) ?? []
  const CLOSED = [...closed.matchAll(/`(\w+)`/g)].map(([, namespace = '']) => namespace)

  test('that are wildcards never open these namespaces, which docs/gateway.md lists', () => {
    expect(CLOSED).toHaveLength(32)
    expect(new Set(CLOSED).size).toBe(32)
  })

  test.each(CLOSED)('that are wildcards never open the namespace %s', (namespace) => {
    for (const method of [`${namespace}_read`, `${namespace.toUpperCase()}_read`]) {
      const space = method.split('_')[0]
      for (const wildcard of ['*', `${space}*`, `${space}_*`, `${space}_rea*`]) {
        expect([wildcard, ask({ method, extraMethods: [wildcard] }).kind]).toEqual([wildcard, 'unknown-method'])
      }
      expect(ask({ method, extraMethods: [method] }).kind).toBe('operation')
    }
    // The same wildcard opens a namespace that is not closed.
    expect(ask({ method: `${namespace}x_read`, extraMethods: [`${namespace}x_*`] }).kind).toBe('operation')
  })

  test.each([
    'eth_call',
    'eth_sendRawTransaction',
    'eth_sendRawTransactionSync',
    'eth_newFilter',
    'eth_newBlockFilter',
    'eth_newPendingTransactionFilter',
    'eth_getLogs',
    'net_peerCount',
    'web3_sha3',
    'trace_block',
    'txpool_content',
    'txpool_status',
    'ots_getBlockDetails',
    'erigon_getHeaderByNumber',
  ])('that are * open %s', (method) => {
    expect(ask({ method, extraMethods: ['*'] }).kind).toBe('operation')
  })

  test.each([
    ['zks_getBlockDetails', 'zks_*'],
    ['debug_getRawBlock', 'debug_*'],
    ['debug_storageRangeAt', 'debug_*'],
  ])('open %s by %s, and not by *', (method, wildcard) => {
    expect(ask({ method, extraMethods: [wildcard] }).kind).toBe('operation')
    expect(ask({ method, extraMethods: ['*'] }).kind).toBe('unknown-method')
  })

  test('reach the health API by names of its own alone', () => {
    expect(ask({ method: 'health.more', surface: 'health', extraMethods: ['health.*'] }).kind).toBe('operation')
    expect(ask({ method: 'eth_call', surface: 'health', extraMethods: ['eth_*', 'health.*'] }).kind).toBe(
      'unknown-method',
    )
  })

  test('do not loosen what the known methods take', () => {
    expect(ask({ method: 'eth_chainId', params: [1], extraMethods: ['eth_*'] }).kind).toBe('bad-params')
  })

  const treatment = (method: string) => {
    const outcome = ask({ method, extraMethods: [method] })
    return outcome.kind === 'operation' ? outcome.operation : outcome
  }

  test.each([
    'eth_call',
    'eth_estimateGas',
    'eth_getBalance',
    'eth_getLogs',
    'eth_getCode',
    'eth_gasPrice',
    'eth_feeHistory',
    'net_peerCount',
    'web3_sha3',
  ])('%s is a read', (method) => {
    expect(treatment(method)).toMatchObject({ name: 'other', isRead: true, absenceIsDoubtful: false })
  })

  test.each(['eth_getTransactionReceipt', 'eth_getBlockByHash'])(
    '%s is a read whose null may only be too early',
    (method) => {
      expect(treatment(method)).toMatchObject({ need: { kind: 'hash' }, isRead: true, absenceIsDoubtful: true })
    },
  )

  test.each([
    'eth_sendRawTransaction',
    'eth_sendTransaction',
    'eth_sign',
    'eth_newFilter',
    'eth_newBlockFilter',
    'eth_getFilterChanges',
    'eth_getFilterLogs',
    'eth_uninstallFilter',
    'eth_subscribe',
    'eth_submitWork',
    'eth_something',
    'debug_traceTransaction',
    'debug_setHead',
    'miner_start',
    'personal_unlockAccount',
    'anvil_mine',
    'evm_mine',
    'get_x',
  ])('%s is sent once', (method) => {
    expect(treatment(method)).toMatchObject({ isRead: false })
  })
})

describe('eth_getBlockByNumber', () => {
  const block = (params: unknown) => ask({ method: 'eth_getBlockByNumber', params })

  test.each([
    ['latest', { kind: 'latest', shard: null }],
    ['pending', { kind: 'any' }],
    ['safe', { kind: 'any' }],
    ['finalized', { kind: 'any' }],
    ['earliest', { kind: 'any' }],
    ['0x0', { kind: 'height', shard: null, height: 0 }],
    ['0x1b4', { kind: 'height', shard: null, height: 436 }],
    ['0x1B4', { kind: 'height', shard: null, height: 436 }],
    ['0x1fffffffffffff', { kind: 'height', shard: null, height: Number.MAX_SAFE_INTEGER }],
  ])('%s needs %j', (tag, need) => {
    for (const hydrated of [true, false]) {
      expect(block([tag, hydrated])).toMatchObject({
        operation: { need, isRead: true },
        canonical: `["${tag.toLowerCase()}",${hydrated}]`,
      })
    }
  })

  test.each([
    ['0x', 'params[0]'],
    ['0x01', 'params[0]'],
    ['0x00', 'params[0]'],
    ['0X1', 'params[0]'],
    ['1', 'params[0]'],
    ['', 'params[0]'],
    ['0xg', 'params[0]'],
    ['0x1 ', 'params[0]'],
    ['0x1\n', 'params[0]'],
    ['-0x1', 'params[0]'],
    ['0x20000000000000', 'params[0]'],
    [`0x${'f'.repeat(64)}`, 'params[0]'],
    ['Latest', 'params[0]'],
    ['newest', 'params[0]'],
    ['__proto__', 'params[0]'],
    [1, 'params[0]'],
    [null, 'params[0]'],
    [{ blockNumber: '0x1' }, 'params[0]'],
    [['latest'], 'params[0]'],
  ])('%j is bad', (tag, member) => {
    expect(block([tag, false])).toMatchObject({ kind: 'bad-params', message: expect.stringContaining(member) })
  })

  test.each([
    undefined,
    [],
    ['latest'],
    ['latest', false, 1],
    { block: 'latest' },
    {},
    ['latest', 0],
    ['latest', 'true'],
    ['latest', null],
  ])('params %j are bad', (params) => {
    expect(block(params)).toMatchObject({ kind: 'bad-params' })
  })

  test('any height that counts exactly is taken as it is', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.boolean(), (height, capital) => {
        const digits = height.toString(16)
        const text = `0x${capital ? digits.toUpperCase() : digits}`

        expect(block([text, true])).toMatchObject({
          operation: { need: { kind: 'height', height } },
          canonical: `["0x${digits}",true]`,
        })
      }),
    )
  })
})

describe('eth_getTransactionByHash', () => {
  const transaction = (params: unknown) => ask({ method: 'eth_getTransactionByHash', params })

  test('takes one hash of 32 bytes, in capitals too', () => {
    const capitals = `0x${'AB'.repeat(32)}`

    expect(transaction([HASH])).toEqual({
      kind: 'operation',
      operation: {
        name: 'eth_getTransactionByHash',
        need: { kind: 'hash', shard: null },
        isRead: true,
        absenceIsDoubtful: true,
      },
      canonical: `["${HASH}"]`,
    })
    expect(transaction([capitals])).toEqual(transaction([HASH]))
  })

  test.each([
    undefined,
    [],
    [HASH, 1],
    { hash: HASH },
    [HASH.slice(2)],
    [`${HASH}ab`],
    [HASH.slice(0, -1)],
    [`${HASH.slice(0, -1)}g`],
    [`${HASH}\n`],
    [1],
    [null],
    [[HASH]],
    [`0X${HASH.slice(2)}`],
  ])('params %j are bad', (params) => {
    expect(transaction(params)).toMatchObject({ kind: 'bad-params' })
  })
})

describe('methods without params', () => {
  test.each(['eth_chainId', 'net_version', 'web3_clientVersion', 'eth_blockNumber'])(
    '%s takes none or [], however it is written',
    (method) => {
      for (const text of [undefined, '[]', '[ ]', '[\n]']) {
        expect(ask({ method, ...(text === undefined ? {} : { text }) })).toMatchObject({
          kind: 'operation',
          canonical: '[]',
        })
      }
      for (const params of [{}, [null], ['latest'], { a: 1 }])
        expect(ask({ method, params })).toMatchObject({ kind: 'bad-params' })
    },
  )

  test('only eth_blockNumber is about where the chain is now', () => {
    const need = (method: string) => {
      const outcome = ask({ method })
      return outcome.kind === 'operation' && outcome.operation.need
    }

    expect(need('eth_blockNumber')).toEqual({ kind: 'latest', shard: null })
    expect(need('eth_chainId')).toEqual({ kind: 'any' })
  })
})

describe('health.*', () => {
  const health = (text?: string) =>
    ask({ method: 'health.health', surface: 'health', ...(text === undefined ? {} : { text }) })

  test.each([undefined, '[]', '{}', '[{}]', '{"tags":null}', '{"tags":[]}', ' [ { "tags" : [ ] } ] '])(
    'without tags: %s',
    (text) => {
      expect(health(text)).toMatchObject({
        operation: { name: 'health.health', need: { kind: 'any' }, isRead: true },
        canonical: '{}',
      })
    },
  )

  test('with tags, whose order says nothing', () => {
    expect(health('{"tags":["b","a","b"]}')).toMatchObject({ canonical: '{"tags":["a","b"]}' })
    expect(health('[{"tags":["a","b"]}]')).toMatchObject({ canonical: '{"tags":["a","b"]}' })
  })

  test.each([
    '[1]',
    '["a"]',
    '[{},{}]',
    '[[]]',
    '[null]',
    '{"tags":"a"}',
    '{"tags":[1]}',
    '{"tags":[""]}',
    '{"tags":{}}',
    '{"Tags":[]}',
    '{"tags":["a"],"tags":["b"]}',
    '{"tags":["a"],"\\u0074ags":[]}',
    '{"x":1}',
    '{"__proto__":{}}',
    `{"tags":["${'x'.repeat(129)}"]}`,
    JSON.stringify({ tags: Array.from({ length: 65 }, String) }),
  ])('not with %s', (text) => {
    expect(health(text)).toMatchObject({ kind: 'bad-params' })
  })
})

describe('admin.alias', () => {
  const alias = (text?: string) =>
    ask({ method: 'admin.alias', surface: 'admin', ...(text === undefined ? {} : { text }) })
  const of = (params: unknown) => alias(JSON.stringify(params))

  test('takes an object, alone or in an array, and is not a read', () => {
    const expected = {
      kind: 'operation',
      operation: { name: 'admin.alias', need: { kind: 'any' }, isRead: false, absenceIsDoubtful: false },
      canonical: '{"endpoint":"bc/C","alias":"my-chain/x.1_a"}',
    }

    expect(alias('{"alias":"my-chain/x.1_a","endpoint":"bc/C"}')).toEqual(expected)
    expect(alias('[ {"endpoint":"bc/C","alias":"my-chain/x.1_a"} ]')).toEqual(expected)
  })

  test('takes 512 bytes, and no more', () => {
    expect(of({ endpoint: 'bc/C', alias: 'a'.repeat(512) }).kind).toBe('operation')
    expect(of({ endpoint: 'bc/C', alias: 'a'.repeat(513) })).toMatchObject({
      kind: 'bad-params',
      message: expect.stringMatching(/^alias .*512/),
    })
    expect(of({ endpoint: 'a'.repeat(513), alias: 'a' })).toMatchObject({
      kind: 'bad-params',
      message: expect.stringMatching(/^endpoint /),
    })
    expect(of({ endpoint: 'bc/C', alias: 'é'.repeat(256) })).toMatchObject({ kind: 'bad-params' })
  })

  const NO_PLAIN_PATHS = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    './a',
    'a/..',
    '../admin',
    'a/../b',
    'a/./b',
    '.a',
    '-a',
    '_a',
    'a b',
    'a%2fb',
    'a\\b',
    'a;b',
    'a?b',
    'a#b',
    '{x}',
    'a{',
    'é',
    'a\u0000',
    'a\n',
    'a:b',
    'a~b',
    '\u2024\u2024',
  ]

  test.each(NO_PLAIN_PATHS)('%j is neither an alias nor an endpoint', (path) => {
    expect(of({ endpoint: 'bc/C', alias: path })).toMatchObject({
      kind: 'bad-params',
      message: expect.stringMatching(/^alias /),
    })
    expect(of({ endpoint: path, alias: 'a' })).toMatchObject({
      kind: 'bad-params',
      message: expect.stringMatching(/^endpoint /),
    })
  })

  test.each([
    undefined,
    '[]',
    '{}',
    '[{}]',
    '[null]',
    '["bc/C","a"]',
    '{"endpoint":"bc/C"}',
    '{"alias":"a"}',
    '{"endpoint":1,"alias":"a"}',
    '{"endpoint":"bc/C","alias":null}',
    '[{"endpoint":"bc/C","alias":"a"},{}]',
    '[[{"endpoint":"bc/C","alias":"a"}]]',
    '{"endpoint":"bc/C","alias":"a","x":1}',
    '{"endpoint":"bc/C","alias":"a","Alias":"b"}',
    '{"endpoint":"bc/C","alias":"a","alias":"b"}',
    '{"endpoint":"bc/C","alias":"a","\\u0061lias":"b"}',
    '{"__proto__":{"endpoint":"bc/C","alias":"a"}}',
  ])('params %s are bad', (text) => {
    expect(alias(text)).toMatchObject({ kind: 'bad-params' })
  })
})

test('no params make it throw, and no refusal repeats what was sent', () => {
  const methods = [
    ['chain', 'eth_getBlockByNumber'],
    ['chain', 'eth_getTransactionByHash'],
    ['chain', 'eth_chainId'],
    ['health', 'health.health'],
    ['admin', 'admin.alias'],
  ] as const
  const value = fc.oneof(fc.constantFrom('latest', '0x1', HASH, true, 'bc/C', 'canary'), fc.jsonValue({ maxDepth: 3 }))
  const params = fc.oneof(
    fc.array(value, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('tags', 'endpoint', 'alias', 'canary'), value),
  )
  fc.assert(
    fc.property(fc.constantFrom(...methods), params, ([surface, method], sent) => {
      const outcome = ask({ surface, method, params: sent })

      if (outcome.kind === 'operation') expect(outcome.operation.name).toBe(method)
      else expect([outcome.kind, outcome.message.includes('canary')]).toEqual(['bad-params', false])
    }),
    { numRuns: 5000 },
  )
})
