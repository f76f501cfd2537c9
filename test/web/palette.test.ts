import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { setUp } from '../http/setting.ts'
import { findingsInAllLooks, hasChromium, openChromium } from '../support/chromium.ts'
import { incident } from '../support/incident.ts'

describe.runIf(hasChromium)('the dialogs in Chromium', () => {
  const { serve, show } = openChromium()

  async function start(options: { readonly token?: Secret } = {}) {
    const setting = setUp({ realClock: systemClock, options })
    await setting.world.pollAll()
    setting.incidents.put(incident({ id: 'broken', openedAt: systemClock.now() - 1000 }))
    const seen = await show(await serve(setting))
    const results = seen.page.locator('.palette [role=option]')
    return { ...seen, results, input: seen.page.getByRole('combobox', { name: /^View, network/ }) }
  }

  test.each([
    ['view gatew', '/gateway', 'Gateway'],
    ['ethereum net', '/networks/ethereum', 'Ethereum'],
    ['node 2', '/endpoints/avalanche/own-2', 'Own node 2'],
    ['is down', '/incidents/broken', 'Avalanche: Own node 1 is down: connection refused'],
    ['clock-sk', '/runbooks/clock-skewed', 'HeartlineClockSkew'],
    ['storedeg', '/runbooks/HeartlineStoreDegraded', 'HeartlineStoreDegraded'],
  ])('the palette goes to %s by keys alone, without a reload', async (typed, path, heading) => {
    const { page, results, complaints } = await start()
    await page.evaluate(() => Object.assign(window, { isSame: true }))

    await page.keyboard.press('Control+k')
    await results.first().waitFor()
    await page.keyboard.type(typed)
    await expect.poll(() => results.count(), { timeout: 30_000 }).toBe(1)
    await page.keyboard.press('Enter')

    await page.locator('h1', { hasText: heading }).waitFor()
    expect(new URL(page.url()).pathname).toBe(path)
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    expect(await page.locator('.palette').isVisible()).toBe(false)
    expect(complaints).toEqual([])
  })

  test('the palette is loaded on first use, moves by arrows, says if nothing matches, and Escape gives the focus back', async () => {
    const { page, results, input, loaded } = await start()
    const link = page.getByRole('link', { name: 'Own node 2' })
    await link.focus()
    expect(loaded.filter(({ path }) => path.includes('palette'))).toEqual([])

    await page.keyboard.press('Control+k')
    await results.first().waitFor()
    const active = () => input.getAttribute('aria-activedescendant')
    expect(await active()).toBe('palette-0')
    await page.keyboard.press('ArrowDown')
    expect(await page.locator(`#${await active()}`).innerText()).toMatch(/^Incidents/)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    expect(await active()).toBe(`palette-${(await results.count()) - 1}`)
    await page.keyboard.type('zzzz')
    await page.getByText('Nothing matches.').waitFor()
    await page.keyboard.press('Escape')

    expect(await link.evaluate((one) => one === document.activeElement)).toBe(true)
    await page.keyboard.press('Control+k')
    await results.nth(3).waitFor()
    expect(await input.inputValue()).toBe('')
  })

  test('the palette opens by its button, and by a click goes where it says', async () => {
    const { page, results } = await start()

    await page.getByRole('button', { name: 'Go to (Ctrl+K)' }).click()
    await results.filter({ hasText: 'Observer' }).click()

    await page.waitForURL('**/observer')
  })

  test('the palette has no finding of axe, light and dark, on a screen and a phone', async () => {
    const { page, results } = await start()
    await page.keyboard.press('Control+k')
    await results.first().waitFor()

    expect(await findingsInAllLooks(page)).toEqual([])
  })

  test('? opens the help, by keys alone, without findings of axe, and a link of it opens the runbooks', async () => {
    const { page, complaints } = await start()
    await page.locator('#search').focus()
    await page.keyboard.press('?')
    expect(await page.locator('#search').inputValue()).toBe('?')
    await page.locator('h1').focus()

    await page.keyboard.press('?')

    await page.getByRole('dialog', { name: 'Help' }).getByText('Ctrl+K').waitFor()
    expect(await findingsInAllLooks(page)).toEqual([])
    await page.keyboard.press('Escape')
    expect(await page.locator('.help').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Help (?)' }).click()
    await page.getByRole('button', { name: 'Close' }).click()
    expect(await page.locator('.help').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Help (?)' }).click()
    await page.locator('.help').getByRole('link', { name: 'Runbooks' }).click()
    await page.locator('h1', { hasText: 'Runbooks' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('the palette offers the public what the public may see', async () => {
    const { page, results, complaints } = await start({ token: new Secret('a-token-of-the-operator') })

    await page.keyboard.press('Control+k')
    await page.keyboard.type('own node 1')

    await results.filter({ hasText: 'no answer' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('j and k go through incidents and endpoints, Enter opens, and g goes to a view, but not where text is typed', async () => {
    const { page, loaded, complaints } = await start()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    const rows = page.locator('tbody tr')
    await rows.nth(2).waitFor()
    await page.locator('.incidents:not([data-kept])').waitFor()
    expect(loaded.filter(({ path }) => path.includes('keys'))).toEqual([])

    await page.keyboard.press('j')
    await expect.poll(focused).toMatch(/^is down/)
    const first = await rows.nth(0).locator('a').first().textContent()
    await page.keyboard.press('j')
    await expect.poll(focused).toBe(first)
    for (let times = 0; times < 9; times++) await page.keyboard.press('j')
    await expect.poll(focused).toBe(await rows.last().locator('a').first().textContent())
    await page.keyboard.press('k')
    await expect.poll(focused).toBe(await rows.nth(1).locator('a').first().textContent())
    await page.keyboard.press('Enter')
    await page.waitForURL('**/endpoints/**')
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.waitForURL('**/incidents')
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('gij?')
    expect(await page.getByRole('searchbox').inputValue()).toBe('gij?')
    expect(new URL(page.url()).pathname).toBe('/')
    await page.keyboard.press('Tab')
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    // A `g` of long ago means nothing.
    await page.keyboard.press('g')
    await page.evaluate(() => {
      const now = performance.now.bind(performance)
      performance.now = () => now() + 5000
    })
    await page.keyboard.press('i')
    await page.keyboard.press('?')
    await page.getByText('Next and previous row; Enter opens it').waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    expect(complaints).toEqual([])
  })
})
