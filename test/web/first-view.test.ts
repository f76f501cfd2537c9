import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { removeFolder, temporaryFolder, until } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'

const MOST_BYTES = 25_000
/** With what is loaded by itself once the page is live. */
const MOST_BYTES_LATER = 29 * 1024

/** A page's requests but those of the API, by path, with what came over the wire for their content. */
async function countBytes(page: Page, blocked: readonly string[] = []): Promise<ReadonlyMap<string, number>> {
  const session = await page.context().newCDPSession(page)
  const heads = new Map<
    string,
    { readonly path: string; readonly bytes: number; readonly encoding: string | undefined }
  >()
  const bytes = new Map<string, number>()
  session.on('Network.responseReceived', ({ requestId, response: { url, headers, encodedDataLength } }) => {
    const { pathname: path } = new URL(url)
    if (!path.startsWith('/api/'))
      heads.set(requestId, { path, bytes: encodedDataLength, encoding: headers['content-encoding'] })
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const head = heads.get(requestId)
    if (head === undefined) return
    expect([head.path, head.encoding]).toEqual([head.path, 'br'])
    bytes.set(head.path, encodedDataLength - head.bytes)
  })
  await session.send('Network.enable')
  await session.send('Network.setBlockedURLs', { urls: [...blocked] })
  return bytes
}

const sum = (bytes: ReadonlyMap<string, number>) => [...bytes.values()].reduce((all, one) => all + one, 0)

describe.runIf(hasChromium)('the first view of the demo, over the wire', () => {
  const { blank } = openChromium()
  const folder = temporaryFolder()
  let demo: ChildProcess
  let url = ''

  beforeAll(async () => {
    const main = join(checkout, 'dist/src/main.js')
    demo = spawn(process.execPath, [main, 'demo', '--port', '0'], { env: { ...process.env, TMPDIR: folder } })
    let out = ''
    demo.stdout?.on('data', (text) => (out += text))
    await until(() => /^http\S+$/m.test(out), 'the demo to listen', 120_000)
    url = /^http\S+$/m.exec(out)?.[0] ?? ''
  })
  afterAll(async () => {
    demo.kill('SIGTERM')
    await new Promise((resolve) => demo.once('exit', resolve))
    removeFolder(folder)
  })

  /** The demo has at most two faults at a time. */
  async function untilTwoIncidentsAreOpen(): Promise<void> {
    await until(
      async () => {
        const { incidents } = (await (await fetch(`${url}api/v1/incidents?open=true`)).json()) as {
          incidents: unknown[]
        }
        return incidents.length > 1
      },
      'two open incidents',
      240_000,
    )
  }

  test('is complete and live with at most 25 KB, also with several open incidents', async () => {
    await until(async () => (await (await fetch(url)).text()).includes('data-strip'), 'strips', 120_000)
    await untilTwoIncidentsAreOpen()
    const page = await blank()
    // What is loaded only once the page is live never arrives.
    const bytes = await countBytes(page, ['*/events-*.js', '*/strip-*.js', '*/actions-*.js'])

    await page.goto(url)
    await page.waitForSelector('.lamp.on')

    expect(await page.locator('.incidents li a[href^="/incidents/"]').first().innerText()).toMatch(/^(is|was) /)
    expect(await page.locator('tbody tr').count()).toBe(9)
    expect(await page.locator('tbody .strip svg').count()).toBe(9)
    const since = page.locator('.incidents [data-since]').first()
    const before = await since.innerText()
    await expect.poll(() => since.innerText()).not.toBe(before)
    expect(bytes.size).toBeGreaterThan(4)
    expect([sum(bytes) < MOST_BYTES, bytes]).toEqual([true, bytes])
  })

  test('loads the code of open incidents once it is live, and draws them with it', async () => {
    await untilTwoIncidentsAreOpen()
    const page = await blank()
    const bytes = await countBytes(page)

    await page.goto(url)

    await page.locator('.incidents:not([data-kept]) li').first().waitFor()
    expect(await page.locator('.incidents').count()).toBe(1)
    expect([sum(bytes) < MOST_BYTES_LATER, bytes]).toEqual([true, bytes])
  })
})
