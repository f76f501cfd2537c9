import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'

const TOKEN = 'token-0123456789abcdef-0123456789'
const CERTIFICATES = join(import.meta.dirname, '../config/tls')
const WALLET = 'wallet-0123456789abcdef'

/** A node that answers nothing useful, and records path and key of its requests. */
async function recordingNode() {
  const seen: string[] = []
  const server = createServer((asked, answer) => {
    seen.push(`${asked.url} ${String(asked.headers['x-api-key'])}`)
    answer.writeHead(503).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** A daemon whose page and gateway have the certificate `a.crt`; `config` makes its configuration with other secrets. */
async function startSecure(nodeUrl: string) {
  const folder = temporaryFolder()
  const config = (name: string, token: string) => {
    const tls = { cert: join(CERTIFICATES, `${name}.crt`), key: join(CERTIFICATES, `${name}.key`) }
    const endpoint = { name: 'own', url: `${nodeUrl}/${name}-key`, headers: { 'x-api-key': `${name}-header` } }
    return {
      server: { listen: '127.0.0.1:0', token, tls },
      poll: { interval: '300ms', timeout: '300ms' },
      networks: [{ name: 'net', family: 'ethereum', endpoints: [endpoint] }],
      gateway: { enabled: true, listen: '127.0.0.1:0', tls, callers: [{ name: 'wallet', endpoint_id: WALLET }] },
    }
  }
  const daemon = await startDaemon(config('a', TOKEN), { folder, early: true })
  onTestFinished(async () => {
    await daemon.stop('SIGKILL')
    removeFolder(folder)
  })
  const gateway = () => /"url":"(https[^"]+)"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1]
  await until(() => gateway() !== undefined, 'the gateway listens')
  const ports = [daemon.url, gateway()!].map((url) => Number(new URL(url).port))
  return { daemon, config, ports: { page: ports[0]!, gateway: ports[1]! } }
}

const fingerprintOf = (name: string) =>
  new X509Certificate(readFileSync(join(CERTIFICATES, `${name}.crt`))).fingerprint256

async function fingerprintAt(port: number): Promise<string> {
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

function statusWith(token: string, { url }: RunningDaemon): Promise<number | undefined> {
  const options = { headers: { authorization: `Bearer ${token}` }, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    request(`${url}/metrics`, options, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
      .on('error', reject)
      .end()
  })
}

test('a reload changes the URL and headers of an endpoint and both certificates at once, and the token at a restart', async () => {
  const node = await recordingNode()
  const { daemon, config, ports } = await startSecure(node.url)
  const certificates = () => Promise.all([fingerprintAt(ports.page), fingerprintAt(ports.gateway)])
  await until(() => node.seen.length > 0, 'it is polled')
  expect(await certificates()).toEqual([fingerprintOf('a'), fingerprintOf('a')])

  daemon.rewrite(config('b', `${TOKEN}-new`))
  daemon.process.kill('SIGHUP')
  await until(() => daemon.log().includes('"configuration reloaded"'), 'it is reloaded')
  const changedAt = () => node.seen.findIndex((line) => line.includes('b-'))
  await until(() => changedAt() !== -1 && node.seen.length > changedAt() + 3, 'it is polled with the new secrets')

  for (const line of node.seen.slice(0, changedAt())) expect(line).toMatch(/^\/a-key.* a-header$/)
  for (const line of node.seen.slice(changedAt())) expect(line).toMatch(/^\/b-key.* b-header$/)
  expect(await certificates()).toEqual([fingerprintOf('b'), fingerprintOf('b')])
  expect([await statusWith(TOKEN, daemon), await statusWith(`${TOKEN}-new`, daemon)]).toEqual([200, 401])
  expect(daemon.log()).toMatch(/"keys":\["server.token"\][^\n]*take effect after a restart/)
}, 120_000)

test('an unfinished TLS handshake ends after 10 s at the page, after 8 s at the gateway', async () => {
  const { ports } = await startSecure((await recordingNode()).url)
  const lasts = async (port: number) => {
    const from = performance.now()
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket.on('error', () => {}).resume(), 'close')
    return performance.now() - from
  }

  const [page, gateway] = await Promise.all([lasts(ports.page), lasts(ports.gateway)])

  expect(gateway).toBeGreaterThan(7_900)
  expect(page).toBeGreaterThan(9_900)
  expect(gateway).toBeLessThan(page)
}, 120_000)
