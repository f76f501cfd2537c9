import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import { gatewayError } from '../../src/gateway/errors.ts'
import { createGateway, type Gateway, type GatewayDeps, type GatewayRules } from '../../src/gateway/gateway.ts'
import { turnsOfSlices } from '../../src/gateway/loop-turns.ts'
import type { CallerSettings } from '../../src/gateway/request/callers.ts'
import type { GatewayMetrics } from '../../src/gateway/request/request-recorder.ts'
import type { AliasRoutes } from '../../src/gateway/request/route.ts'
import type { ServiceMetrics } from '../../src/gateway/service.ts'
import type { Provenance, Reply, UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { Secret } from '../../src/secret.ts'
import { recordingLog } from '../support/log.ts'

export const ID = 'wallet-0123456789abcdef'
export const ADMIN_ID = 'operator-0123456789abcdef'

export const FROM_A: Provenance = { endpoint: 'a', attempts: 1, cache: 'none', degraded: false, nodeMs: 0 }

export function caller(name: string, id: string, over: Partial<CallerSettings> = {}): CallerSettings {
  const networks = ['ethereum', 'avalanche', 'multiversx']
  const common = { networks, admin: false, rateLimit: null, methods: [], cors: [] }
  return { name, endpointId: new Secret(id), ...common, ...over }
}

/** For what is of no interest to a test. */
export const UNCOUNTED: ServiceMetrics = {
  answered() {},
  rejected() {},
  cacheLookup() {},
  degraded() {},
  inFlight() {},
  attempted() {},
  retried() {},
  coalesced() {},
}

export const RULES: GatewayRules = {
  admin: true,
  callers: [caller('wallet', ID), caller('operator', ADMIN_ID, { admin: true })],
  networks: [
    {
      network: { name: 'ethereum', family: 'ethereum' },
      shards: [null],
      host: 'eth.example.org',
      endpoints: ['a', 'b'],
    },
    { network: { name: 'avalanche', family: 'avalanche' }, shards: [null], host: null, endpoints: ['a', 'b'] },
    { network: { name: 'multiversx', family: 'multiversx' }, shards: [0, 1], host: null, endpoints: ['p'] },
  ],
  timeoutMs: 5000,
  bodyLimitBytes: 4096,
  batchLimit: 20,
}

export interface Setting {
  readonly gateway: Gateway
  readonly url: string
  readonly port: number
  readonly asked: UpstreamRequest[]
  readonly log: ReturnType<typeof recordingLog>
  readonly counted: string[]
  close(): Promise<void>
}

export interface SettingOptions extends Partial<Omit<GatewayDeps, 'rules' | 'answerer'>> {
  readonly rules?: Partial<GatewayRules>
  readonly clock?: Clock
  readonly answer?: (question: UpstreamRequest) => Reply | Promise<Reply>
}

/** By itself every node says how it was asked. */
export function echo({ call, to }: UpstreamRequest): Reply {
  if (call === null) {
    const path = to.kind === 'path' ? to.path : ''
    return {
      ...FROM_A,
      kind: 'rest',
      status: 200,
      body: Buffer.from(`{"data":"${path}","error":"","code":"successful"}`),
    }
  }
  return { ...FROM_A, kind: 'result', result: Buffer.from(`{"method":"${call.method}","params":${call.params}}`) }
}

const noAliases: AliasRoutes = { resolve: () => gatewayError('unknown-route', 'no such alias') }

/** A gateway on a real socket, over nodes that answer as told. */
export async function open({ answer = echo, rules, ...over }: SettingOptions = {}): Promise<Setting> {
  const asked: UpstreamRequest[] = []
  const counted: string[] = []
  const log = recordingLog()
  const metrics: GatewayMetrics = {
    answered: (network, operation, name, outcome) => void counted.push(`${network} ${operation} ${name} ${outcome}`),
    rejected: (network, reason) => void counted.push(`rejected ${network} ${reason}`),
    cacheLookup: (network, result) => void counted.push(`cache ${network} ${result}`),
    degraded: (network) => void counted.push(`degraded ${network}`),
    inFlight() {},
  }
  const gateway = createGateway({
    listen: { host: '127.0.0.1', port: 0, tls: null },
    rules: { ...RULES, ...rules },
    upstream: {
      async handle(question) {
        asked.push(question)
        return answer(question)
      },
    },
    aliases: noAliases,
    slices: turnsOfSlices(),
    metrics,
    clock: systemClock,
    log,
    ...over,
  })
  const { port } = await gateway.listen()
  return { gateway, url: `http://127.0.0.1:${port}`, port, asked, log, counted, close: () => gateway.close() }
}

/** The same until the test has finished. */
export async function set(options?: SettingOptions): Promise<Setting> {
  const setting = await open(options)
  onTestFinished(() => setting.close())
  return setting
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  readonly json: any
}

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  })
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(url, init)
  const text = await answer.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: answer.status, text, headers: answer.headers, json }
}

export const call = (method: string, params?: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params })

/** Writes bytes to a socket as they are, and gives everything that comes back until it is closed. */
export function raw(port: number, bytes: string | Buffer, withinMs = 20_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let text = ''
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`not closed within ${withinMs} ms; so far: ${text.slice(0, 200)}`))
    }, withinMs)
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    socket.write(bytes)
  })
}
