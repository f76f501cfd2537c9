import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { checkout } from './project.ts'

/** A real Ethereum node, alone with its own chain. */
export interface Anvil {
  readonly url: string
  readonly port: number
  height(): Promise<number>
  mine(blocks?: number): Promise<void>
  /** Its newest blocks never were. */
  rollback(blocks: number): Promise<void>
  /** Its newest `depth` blocks become others. */
  reorg(depth: number): Promise<void>
  /** Any other method; throws what the node answers as error. */
  call(method: string, params?: readonly unknown[]): Promise<unknown>
  /** SIGKILL, SIGSTOP, SIGCONT: what may happen to a node. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

export interface AnvilOptions {
  readonly chainId?: number
  /** Seconds from block to block; without it, blocks come by `mine` alone. */
  readonly blockTime?: number
  readonly port?: number
  /**
   * Unix seconds of its genesis block; block n then comes n seconds later, whenever it is mined. Nodes that share it
   * agree on every block, also on those mined again after a rollback (on berlin: base fees would differ by then).
   */
  readonly timestamp?: number
}

const START_WITHIN_MS = 100_000
/** Anvil, Ganache and Hardhat say it each in its own words. */
const LISTENING = /(?:Listening on |server at http:\/\/)127\.0\.0\.1:(\d+)/i

export async function startAnvil({
  chainId = 31_337,
  blockTime,
  port = 0,
  timestamp,
}: AnvilOptions = {}): Promise<Anvil> {
  const mining = blockTime === undefined ? ['--no-mining'] : ['--block-time', String(blockTime)]
  const genesis = timestamp === undefined ? [] : ['--timestamp', String(timestamp), '--hardfork', 'berlin']
  const child = spawn(
    binary(),
    ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), ...mining, ...genesis],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const listening = await listeningPort(child, 'anvil')
  const url = `http://127.0.0.1:${listening}`
  let id = 0

  async function call(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
    })
    const reply = (await response.json()) as { result?: unknown; error?: { message: string } }
    if (reply.error) throw new Error(`anvil: ${method}: ${reply.error.message}`)
    return reply.result
  }

  const height = async () => Number(await call('eth_blockNumber'))

  let last: Promise<unknown> = Promise.resolve()
  /** One after the other: a block's time is that of the height before it. */
  function inTurn(change: () => Promise<unknown>): Promise<void> {
    const done = last.then(change).then(() => {})
    last = done.catch(() => {})
    return done
  }

  async function mine(blocks: number): Promise<void> {
    if (timestamp !== undefined) await call('evm_setNextBlockTimestamp', [timestamp + (await height()) + 1])
    await call('anvil_mine', [`0x${blocks.toString(16)}`])
  }

  let reorgs = 0
  /** Blocks at the same times differ by who made them. */
  async function reorg(depth: number): Promise<void> {
    const coinbase = await call('eth_coinbase')
    await call('anvil_setCoinbase', [`0x${(++reorgs).toString(16).padStart(40, 'f')}`])
    await call('anvil_reorg', [depth, []])
    await call('anvil_setCoinbase', [coinbase])
  }

  // The interval that `anvil_mine` takes is added to the time of day, which may move on between two blocks.
  if (timestamp !== undefined) await call('anvil_setBlockTimestampInterval', [1])

  return {
    url,
    port: listening,
    call,
    height,
    mine: (blocks = 1) => inTurn(() => mine(blocks)),
    rollback: (blocks) => inTurn(() => call('anvil_rollback', [blocks])),
    reorg: (depth) => inTurn(() => reorg(depth)),
    signal: (name) => void child.kill(name),
    stop: () => ended(child),
  }
}

/** Ganache or Hardhat: alone with a chain of its own, a block a second. */
export async function startOtherNode(
  client: 'ganache' | 'hardhat',
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), `heartline-${client}-`))
  const config = join(folder, 'hardhat.config.cjs')
  writeFileSync(config, `module.exports = ${JSON.stringify(HARDHAT_CONFIG)}`)
  const hardhat = createRequire(import.meta.url).resolve('hardhat/internal/cli/bootstrap.js')
  const args = {
    ganache: ['-e', GANACHE],
    hardhat: [hardhat, '--config', config, 'node', '--hostname', '127.0.0.1', '--port', '0'],
  }
  const child = spawn(process.execPath, args[client], {
    cwd: checkout,
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await listeningPort(child, client)
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      await ended(child)
      rmSync(folder, { recursive: true })
    },
  }
}

const HARDHAT_CONFIG = {
  solidity: '0.8.24',
  networks: { hardhat: { mining: { auto: true, interval: 1000 }, accounts: { count: 1 } } },
}

/** Its command line takes no free port. */
const GANACHE = `
  const server = require('ganache').server({ miner: { blockTime: 1 }, wallet: { totalAccounts: 1 }, logging: { quiet: true } })
  server.listen(0, '127.0.0.1').then(() => console.log('Listening on 127.0.0.1:' + server.address().port))
`

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

/** The program itself, not its launcher: a signal must reach it. */
function binary(): string {
  const require = createRequire(import.meta.url)
  const launcher = require.resolve('@foundry-rs/anvil/package.json')
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  return createRequire(launcher).resolve(`@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`)
}

function listeningPort(child: ChildProcess, client: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('did not start in time'), START_WITHIN_MS)
    const fail = (why: string) => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      reject(new Error(`${client}: ${why}`))
    }
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => fail(`ended with status ${code}`))
    if (child.stdout === null) return fail('has no output')
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, digits] = LISTENING.exec(line) ?? []
      if (digits === undefined) return
      clearTimeout(timer)
      child.removeAllListeners('exit')
      resolve(Number(digits))
    })
  })
}
