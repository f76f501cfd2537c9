/**
 * Whether a caller's `methods` allow a method beyond the default list. An entry without `*` allows exactly that method.
 * A wildcard never allows methods that sign with the node's keys or administer a node.
 */
export function isAllowed(method: string, extraMethods: readonly string[]): boolean {
  return extraMethods.some((allowed) => {
    if (!allowed.endsWith('*')) return method === allowed
    const prefix = allowed.slice(0, -1)
    return method.startsWith(prefix) && isOpenToWildcard(method, prefix)
  })
}

function isOpenToWildcard(method: string, prefix: string): boolean {
  if (method.startsWith('GET ') || method.startsWith('health.')) return true
  const [, otherChain, itsName = ''] = OF_OTHER_CHAIN.exec(method) ?? []
  if (otherChain !== undefined) {
    const isClosed = CLOSED_NAMESPACES.has(otherChain.toLowerCase()) || SIGNS_OR_CHANGES.test(itsName)
    return prefix.includes('.') && !isClosed && !USES_KEYSTORE.test(itsName)
  }
  const underscore = method.indexOf('_')
  const namespace = method.slice(0, underscore)
  const name = method.slice(underscore + 1)
  // No node has a public namespace with capitals.
  if (namespace !== namespace.toLowerCase() || SIGNS_OR_CHANGES.test(name)) return false
  if (namespace === 'txpool') return TXPOOL_READS.has(name)
  if (OPEN_NAMESPACES.has(namespace)) return true
  // A wildcard for any other namespace must name it: `debug_*`, `zks_*`.
  if (!prefix.includes('_')) return false
  return namespace === 'debug' ? DEBUG_READS.test(name) : !CLOSED_NAMESPACES.has(namespace)
}

/** `avm.issueTx`; a wildcard has to name the namespace. */
const OF_OTHER_CHAIN = /^([A-Za-z0-9]+)\.(.*)$/
/** The methods of the X-Chain, the P-Chain and the C-Chain that take a user of the node's keystore and a password. */
const USES_KEYSTORE = /^(?:add|create|export|import|listAddresses|mint|send)/i

const OPEN_NAMESPACES: ReadonlySet<string> = new Set(['eth', 'net', 'web3', 'trace', 'ots', 'erigon', 'bor', 'rpc'])
const TXPOOL_READS: ReadonlySet<string> = new Set(['content', 'contentFrom', 'inspect', 'status'])
/** Excludes methods that read or write files of the node, or change what it does. */
const DEBUG_READS =
  /^(?:trace(?!.*File)|getRaw|getBadBlocks$|getModifiedAccounts|getAccessibleState$|accountRange$|storageRangeAt$|intermediateRoots$)/

/**
 * Applies to every namespace. Signed transactions (`sendRaw…`) do not use the node's keys. Bor's `eth_getVoteOnHash` is
 * a vote: the node keeps to that branch from then on.
 */
const SIGNS_OR_CHANGES =
  /^(?:send(?!(?:Private)?Raw)|sign|fill|submit|resend|accounts|requestAccounts|decrypt|encrypt|getEncryptionPublicKey|getVoteOnHash|distribute|import|unlock|lock|set|add|remove|start|stop|new(?!(?:Block|PendingTransaction)?Filter))/i

/** Namespaces of geth, erigon, nethermind, besu, reth, quorum, coreth, test nodes and rollups. */
const CLOSED_NAMESPACES: ReadonlySet<string> = new Set([
  'account',
  'admin',
  'anvil',
  'clique',
  'conductor',
  'dev',
  'eea',
  'engine',
  'evm',
  'flashbots',
  'ganache',
  'hardhat',
  'ibft',
  'istanbul',
  'les',
  'mev',
  'miner',
  'opp2p',
  'parity',
  'perm',
  'personal',
  'plugins',
  'priv',
  'qbft',
  'raft',
  'secretstore',
  'sequencer',
  'shh',
  'signer',
  'test',
  'testing',
  'vault',
])
