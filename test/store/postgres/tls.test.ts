import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket, connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import { openDatabase } from '../../../src/store/postgres/migrate.ts'
import { StoreError } from '../../../src/store/store.ts'
import { type Authority, createAuthority } from '../../nodes/certificates.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'

const skip = !hasPostgres()
let authority: Authority
let server: PostgresServer
let folder: string
let url: string
const ca = () => `sslrootcert=${join(folder, 'ca.pem')}`

beforeAll(async () => {
  if (skip) return
  authority = createAuthority()
  folder = mkdtempSync(join(tmpdir(), 'heartline-tls-'))
  writeFileSync(join(folder, 'ca.pem'), authority.ca)
  writeFileSync(join(folder, 'other.pem'), authority.selfSigned.cert)
  server = await startPostgres([], authority.issue({ san: 'IP:127.0.0.1' }))
  url = await server.createDatabase()
})
afterAll(async () => {
  await server?.remove()
  authority?.remove()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

/** Whether the connection is encrypted, or how it is refused. */
async function outcomeOf(address: string): Promise<string> {
  try {
    const database = await openDatabase({ url: new Secret(address), clock: systemClock })
    onTestFinished(() => database.close())
    const rows = await database.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    return rows[0]?.ssl === true ? 'encrypted' : 'plain'
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return `${error.kind}: ${error.message}`
  }
}

describe.skipIf(skip)('a server with a certificate', () => {
  test.each([
    ['', 'encrypted'],
    ['sslmode=prefer', 'encrypted'],
    ['sslmode=disable', 'plain'],
    ['sslmode=require', 'encrypted'],
    ['ssl=true', 'encrypted'],
    ['sslmode=require&channel_binding=require', 'encrypted'],
  ])('with "%s" the connection is %s', async (parameters, expected) => {
    expect(await outcomeOf(`${url}?${parameters}`)).toBe(expected)
  })

  test('of an authority that is given is trusted, for the name that it has', async () => {
    const outcome = (parameters: string, host = '127.0.0.1') =>
      outcomeOf(`${url.replace('127.0.0.1', host)}?${parameters}`)

    expect(await outcome(`sslmode=verify-full&${ca()}`)).toBe('encrypted')
    expect(await outcome(`sslmode=verify-ca&${ca()}`, 'localhost')).toBe('encrypted')
    expect(await outcome(`sslmode=verify-full&${ca()}`, 'localhost')).toMatch(/^unreachable: .*ALTNAME_INVALID/)
  })

  test.each([
    () => `sslmode=verify-full`,
    () => `sslmode=verify-full&sslrootcert=system`,
    () => `sslrootcert=system`,
    () => `sslmode=verify-full&sslrootcert=${join(folder, 'other.pem')}`,
    () => `sslmode=verify-ca&sslrootcert=${join(folder, 'other.pem')}`,
    () => `sslmode=require&sslrootcert=${join(folder, 'other.pem')}`,
  ])('of an authority that is not trusted is refused (%s)', async (parameters) => {
    expect(await outcomeOf(`${url}?${parameters()}`)).toMatch(/^unreachable: .*(?:VERIFY|SELF_SIGNED|ISSUER)/)
  })

  test('sslrootcert=system with a mode that verifies less is refused, as by psql', async () => {
    expect(await outcomeOf(`${url}?sslmode=require&sslrootcert=system`)).toMatch(/^bad-url: .*verify-full/)
  })

  test('a password is not given to a server between, where the connection is bound to the certificate', async () => {
    const between = await startBetween(server.port, authority.selfSigned)
    onTestFinished(() => between.close())
    const there = url.replace(`:${server.port}/`, `:${between.port}/`)

    expect(await outcomeOf(`${there}?sslmode=require`)).toBe('encrypted')
    expect(await outcomeOf(`${there}?sslmode=require&channel_binding=require`)).toMatch(
      /^(?:refused-login|unreachable): /,
    )
  })
})

/** Ends TLS with its own certificate, and passes everything on to the server over TLS. */
async function startBetween(to: number, own: { readonly cert: string; readonly key: string }) {
  const sockets = new Set<Socket>()
  async function relay(caller: Socket): Promise<void> {
    const upstream = connect(to, '127.0.0.1')
    for (const socket of [caller, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    const [request] = (await once(caller, 'data')) as [Buffer]
    upstream.write(request)
    const [answer] = (await once(upstream, 'data')) as [Buffer]
    caller.write(answer)
    const ends = [
      new TLSSocket(caller, { isServer: true, ...own }),
      tlsConnect({ socket: upstream, rejectUnauthorized: false }),
    ] as const
    for (const end of ends) end.on('error', () => end.destroy())
    ends[0].pipe(ends[1]).pipe(ends[0])
  }
  const between = createServer((caller) => void relay(caller).catch(() => caller.destroy()))
  between.listen(0, '127.0.0.1')
  await once(between, 'listening')
  return {
    port: (between.address() as AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy()
      between.close()
    },
  }
}
