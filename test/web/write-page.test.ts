import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { NETWORKS, type Setting, type SettingOptions, setUp } from '../http/setting.ts'
import { opened } from '../store/setting.ts'
import { findingsInAllLooks, hasChromium, hide, openChromium } from '../support/chromium.ts'
import { incident } from '../support/incident.ts'

const TOKEN = 'a-token-of-the-operator'
const CHANNEL = {
  name: 'ops',
  type: 'slack',
  failing: false,
  lastError: null,
  lastSentAt: null,
  lastFailedAt: null,
  groupWaitMs: 0,
  results: { sent: 0, retried: 0, rejected: 0, expired: 0 },
}
const notifier = { status: () => ({ channels: [CHANNEL], waiting: [], heartbeat: null }) }

describe.runIf(hasChromium)('silences and notes in Chromium', () => {
  const { blank, serve, show } = openChromium()

  async function start(options: SettingOptions['options'] = {}): Promise<{ setting: Setting; address: string }> {
    const { store } = await opened({ path: ':memory:' })
    const setting = setUp({ realClock: systemClock, options, store, notifier })
    await setting.world.pollAll()
    setting.incidents.put(incident({ openedAt: systemClock.now() - 90_000 }))
    return { setting, address: await serve(setting) }
  }

  test('a silence is begun and ended on the page, which shows it where it applies, by keyboard alone', async () => {
    const { address } = await start()
    const { page, complaints } = await show(`${address}/notifications?silence=avalanche/own-1`)
    await page.setViewportSize({ width: 390, height: 800 })
    const cut = await page
      .locator('table.data td')
      .evaluateAll((cells) => cells.filter((cell) => cell.getBoundingClientRect().right > 378).length)
    expect(cut).toBe(0)
    await page.setViewportSize({ width: 1280, height: 800 })

    expect(await page.getByLabel('About').inputValue()).toBe('{"network":"avalanche","endpoint":"own-1"}')
    await page.getByLabel('For').selectOption('8 h')
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('<b>disk</b> replaced')
    await page.keyboard.press('Enter')

    await page.getByText('The silence holds.').waitFor()
    await page.getByText('Avalanche: Own node 1. No messages until').waitFor()
    expect(await page.getByLabel('Reason').inputValue()).toBe('')
    const { silences } = (await (await fetch(`${address}/api/v1/silences`)).json()) as {
      silences: { from: string; until: string; reason: string }[]
    }
    expect(silences.map(({ from, until }) => Date.parse(until) - Date.parse(from))).toEqual([8 * 3_600_000])
    expect(silences.map(({ reason }) => reason)).toEqual(['<b>disk</b> replaced'])

    for (const path of ['/networks/avalanche', '/endpoints/avalanche/own-1', '/incidents/incident-1']) {
      const { page: shown, complaints: others } = await show(`${address}${path}`)
      await shown.getByText('<b>disk</b> replaced').waitFor()
      expect(others).toEqual([])
    }
    const { page: other } = await show(`${address}/endpoints/avalanche/own-2`)
    expect(await other.locator('main').innerText()).not.toContain('disk')

    await page.getByRole('button', { name: 'End: avalanche/own-1' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('No silences.').waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('silences')
    expect(complaints).toEqual([])
  })

  test('a silence that is being written stays about its endpoint through a reload; once that is gone, another must be chosen', async () => {
    const { setting, address } = await start()
    const { page } = await show(`${address}/notifications`)
    const about = page.getByLabel('About')
    await about.selectOption('Avalanche: Own node 2')
    await page.getByLabel('Reason').fill('disk replaced')
    const reload = async (removed: string, title: string) => {
      setting.world.configure(
        NETWORKS.map((one) => ({ ...one, endpoints: one.endpoints.filter(({ name }) => name !== removed) })),
      )
      await expect.poll(() => about.locator('option', { hasText: title }).count(), { timeout: 15_000 }).toBe(0)
    }

    await reload('own-1', 'Own node 1')
    expect(await about.inputValue()).toBe('{"network":"avalanche","endpoint":"own-2"}')
    await reload('own-2', 'Own node 2')
    await page.getByRole('button', { name: 'Begin a silence' }).click()

    expect(await about.evaluate((field: HTMLSelectElement) => field.validity.valueMissing)).toBe(true)
    expect(await page.getByLabel('Reason').inputValue()).toBe('disk replaced')
    expect(await page.getByText('No silences.').count()).toBe(1)
  })

  test('on a phone a long value leaves its label whole', async () => {
    const channel = { ...CHANNEL, failing: true, lastError: 'x'.repeat(130) }
    const status = () => ({ channels: [channel], waiting: [], heartbeat: null })
    const setting = setUp({ realClock: systemClock, notifier: { status } })
    await setting.world.pollAll()

    const { page } = await show(`${await serve(setting)}/notifications`, { width: 390 })

    const widths = await page.locator('table.data td[data-label]').evaluateAll((cells) =>
      cells.map((cell) => {
        const whole = document.createElement('span')
        whole.textContent = (cell as HTMLElement).dataset.label ?? ''
        document.body.append(whole)
        return Number.parseFloat(getComputedStyle(cell, '::before').width) / whole.getBoundingClientRect().width
      }),
    )
    expect(widths.length).toBeGreaterThan(5)
    for (const width of widths) expect(width).toBeGreaterThan(0.9)
  })

  test('a note is added with the token; the public sees it only if it is public', async () => {
    const { address } = await start({ token: new Secret(TOKEN) })
    const { page, complaints } = await show(`${address}/sign-in?to=/incidents/incident-1`, { until: 'form' })
    await page.getByLabel('Token').fill(TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.getByLabel('New note').fill('it is the disk\n<i>again</i>')
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByText('The note is added.').waitFor()
    await page.getByText('<i>again</i>').first().waitFor()
    await page.getByLabel('New note').fill('We are on it.')
    await page.getByLabel('Public').check()
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.locator('.notes li').nth(1).waitFor()

    expect(await page.locator('.notes li').allInnerTexts()).toEqual([
      expect.stringMatching(/^it is the disk\n<i>again<\/i>\n+[^,]+, [\d:]+$/),
      expect.stringMatching(/^We are on it.\n+.*, public$/),
    ])
    expect(await page.getByLabel('Public').isChecked()).toBe(false)
    expect(await findingsInAllLooks(page)).toEqual([])
    // The browser logs the 401 of the page that leads to the sign-in.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])

    const { page: open, complaints: none } = await show(`${address}/incidents/incident-1`)
    expect(await open.locator('.notes li').allInnerTexts()).toEqual([expect.stringMatching(/^We are on it./)])
    expect(await open.locator('form').count()).toBe(0)
    expect(none).toEqual([])
  })

  test('a note is in the other tabs of the browser at once, not only when they load their view again', async () => {
    const { address } = await start()
    const { page } = await show(`${address}/incidents/incident-1`)
    const other = await page.context().newPage()
    await other.addInitScript(() => Object.assign(window, { setInterval: () => 0 }))
    await other.goto(page.url())
    await other.locator('.lamp.on').waitFor()

    await page.getByLabel('New note').fill('it is the disk')
    await page.getByRole('button', { name: 'Add note' }).click()

    await other.getByText('it is the disk').first().waitFor()
  })

  test('a note that was added while a tab was hidden is in it as soon as it is shown', async () => {
    const { address } = await start()
    const { page } = await show(`${address}/incidents/incident-1`, { alone: true })
    const other = await page.context().newPage()
    await other.clock.install()
    await other.goto(page.url())
    await other.locator('.lamp.on').waitFor()
    await other.clock.pauseAt(Date.now() + 8000)
    await hide(other, true)
    const told = other.evaluate(
      () => new Promise((resolve) => new BroadcastChannel('heartline').addEventListener('message', resolve)),
    )

    await page.getByLabel('New note').fill('it is the disk')
    await page.getByRole('button', { name: 'Add note' }).click()
    await told.then(() => hide(other, false))
    const again = other.waitForResponse('**/api/v1/incidents/incident-1')
    await other.clock.runFor(2000)
    await again
    await other.clock.resume()

    await other.getByText('it is the disk').first().waitFor()
  })

  test.each([
    ['before', [0, 1]],
    ['after', [1, 0]],
  ])('a note is shown also if an older answer arrives %s the one that has it', async (_when, order) => {
    const { address } = await start()
    const page = await blank()
    await page.addInitScript(() => Object.assign(window, { setInterval: () => 0 }))
    await page.goto(`${address}/incidents/incident-1`)
    await page.locator('.lamp.on').waitFor()
    const held: (() => Promise<void>)[] = []
    await page.route('**/api/v1/incidents/incident-1', async (route) => {
      const response = await route.fetch()
      held.push(() => route.fulfill({ response }))
    })
    await page.evaluate(() => new BroadcastChannel('heartline').postMessage('written'))
    await expect.poll(() => held.length).toBe(1)

    await page.getByLabel('New note').fill('it is the disk')
    await page.getByRole('button', { name: 'Add note' }).click()
    await expect.poll(() => held.length).toBe(2)
    for (const at of order) {
      const answered = page.waitForResponse('**/api/v1/incidents/incident-1')
      await held[at]?.()
      await (await answered).finished()
    }
    await page.getByText('it is the disk').first().waitFor()
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))

    expect(await page.getByText('it is the disk').count()).toBeGreaterThan(0)
  })

  test('a half-written note does not follow to another incident', async () => {
    const { setting, address } = await start()
    setting.incidents.put(incident({ id: 'incident-2', openedAt: systemClock.now() - 60_000 }))
    const { page } = await show(`${address}/incidents/incident-1`)
    await page.getByLabel('New note').fill('about the first')
    await page.getByLabel('Public').check()

    await page.evaluate(() => {
      const link = document.createElement('a')
      link.href = '/incidents/incident-2'
      document.querySelector('main')?.append(link)
      link.click()
    })
    await page.locator('form[data-path*="incident-2"]').waitFor()

    expect(await page.getByLabel('New note').inputValue()).toBe('')
    expect(await page.getByLabel('Public').isChecked()).toBe(false)
  })

  test('a daemon that is gone before the first note says so in the form', async () => {
    const { setting, address } = await start()
    const { page } = await show(`${address}/incidents/incident-1`)
    await setting.server.close()

    await page.getByLabel('New note').fill('kept')
    await page.getByRole('button', { name: 'Add note' }).click()

    await page.getByText('Heartline does not respond.').waitFor()
    expect(await page.getByLabel('New note').inputValue()).toBe('kept')
  })

  test('what is refused stays in the form, with the reason', async () => {
    const { setting, address } = await start()
    const { page } = await show(`${address}/incidents/incident-1`)
    const text = page.getByLabel('New note')

    await text.fill(' \u200b ')
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByText('text must be a text of 1 to 2000 characters').waitFor()
    await setting.server.close()
    await text.fill('kept')
    await page.getByRole('button', { name: 'Add note' }).click()

    await page.getByText('Heartline does not respond.').waitFor()
    expect(await text.inputValue()).toBe('kept')
  })

  test('without a script there are no forms, and the page says what to use instead', async () => {
    const { address } = await start()
    for (const [path, words] of [
      ['/notifications', 'heartline silence'],
      ['/incidents/incident-1', 'heartline note'],
    ] as const) {
      const { page } = await show(`${address}${path}`, { scripts: false })
      expect(await page.locator('main').innerText()).toContain(words)
      expect(await page.locator('form').first().isVisible()).toBe(false)
    }
  })
})
