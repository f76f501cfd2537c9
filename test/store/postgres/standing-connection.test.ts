import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createStandingConnection } from '../../../src/store/postgres/standing-connection.ts'
import { until } from '../../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { type Relay, startRelay } from '../../support/relay.ts'

const skip = !hasPostgres()
let server: PostgresServer

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

/** A lock over a way that can be broken. */
async function lockOver(onConnected: (relay: Relay) => void = () => undefined) {
  const url = await server.createDatabase()
  const relay = await startRelay(server.port)
  onTestFinished(() => relay.close())
  const counts = { opened: 0, ended: 0, lost: 0 }
  const newClient = () => {
    const connectionString = url.replace(`:${server.port}`, `:${relay.port}`)
    const client = new Client({ connectionString, query_timeout: 1500, connectionTimeoutMillis: 1500 })
    const connect: () => Promise<Client> = client.connect.bind(client)
    client.connect = async () => {
      counts.opened++
      await connect()
      onConnected(relay)
      return client
    }
    client.once('end', () => counts.ended++)
    return client
  }
  const lock = createStandingConnection(newClient, { id: 17, isShared: false })
  onTestFinished(() => lock.close())
  return { lock, relay, counts, hold: () => lock.hold(() => counts.lost++) }
}

describe.skipIf(skip)('the lock of a session', () => {
  test('is known to be lost when its connection no longer answers, and is taken again', async () => {
    const { lock, relay, counts, hold } = await lockOver()
    expect(await hold()).toBe(true)
    await lock.keep()
    expect(counts).toEqual({ opened: 1, ended: 0, lost: 0 })

    relay.hang()
    await lock.keep()
    expect(counts.lost).toBe(1)
    relay.pass()
    await until(hold, 'it is taken again')
    expect(counts.lost).toBe(1)
  })

  test('is taken once, however many ask for it at the same time', async () => {
    const { lock, counts, hold } = await lockOver()

    expect(await Promise.all([hold(), hold(), lock.keep().then(() => true)])).toEqual([true, true, true])
    expect(counts.opened).toBe(1)
  })

  test('leaves no connection behind when its taking is not answered', async () => {
    const { counts, hold } = await lockOver((relay) => relay.hang())

    await expect(hold()).rejects.toThrow('timeout')
    await until(() => counts.ended === 1, 'the connection is ended')
  })
})
