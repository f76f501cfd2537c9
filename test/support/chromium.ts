import { execFileSync } from 'node:child_process'
import axe from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Response,
} from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Setting } from '../http/setting.ts'
import { isInstalled, requirePackage } from './system-package.ts'

/** Chromium without a window around its pages takes half of the CPU time. */
const SHELL = 'chromium-headless-shell'
const BROWSER = isInstalled(SHELL) ? SHELL : 'chromium'

export const hasChromium = requirePackage(BROWSER, SHELL)

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Processes that share their work with the browser.
  '--in-process-gpu',
  '--enable-features=NetworkServiceInProcess2',
  // A process for each page takes a fifth more CPU time.
  '--renderer-process-limit=1',
  '--process-per-site',
]

const WIDTH = 1280
const HEIGHT = 800

/** Nothing is left as the daemon drew it: what the scripts still draw moves what is below it away from a click. */
export const DRAWN = '#page:not(:has([data-kept])) .lamp.on'

/**
 * How one looks: on a screen of 1280 × 800 in light colours, with scripts, in UTC, and without animations, which take 6 % of
 * a core for each page, unless said otherwise.
 */
export interface Look
  extends Pick<
    BrowserContextOptions,
    'colorScheme' | 'hasTouch' | 'ignoreHTTPSErrors' | 'reducedMotion' | 'timezoneId'
  > {
  readonly width?: number
  readonly height?: number
  readonly scripts?: boolean
  /** Shares nothing with later tests, not even a clock that was replaced. */
  readonly alone?: boolean
  /** What is waited for; without it, that the page is live and drawn, or with no scripts that it has a title. */
  readonly until?: string
}

/** What a context has for all of its pages. */
type ContextLook = Omit<Look, 'width' | 'height' | 'alone' | 'until'>

export interface Seen {
  readonly page: Page
  /** As `complaintsOf` says. */
  readonly complaints: string[]
  /** All that was loaded but answers of the API. */
  readonly loaded: { readonly path: string; readonly response: Response }[]
}

export interface Chromium {
  /** Where it listens from now on, until the test is over. */
  serve(setting: Setting, scheme?: 'http' | 'https'): Promise<string>
  /** An empty page. */
  blank(look?: Look): Promise<Page>
  show(url: string, look?: Look): Promise<Seen>
}

/**
 * The page as it is built now, in a browser for all tests of this `describe`; what a test opened ends with it. Tests with the same
 * look have the same renderer process in turn, which saves a quarter of the CPU time of a short one. Each serves at a new
 * port, so its storage is empty.
 */
export function openChromium(): Chromium {
  let browser: Browser
  const settings: Setting[] = []
  /** By look. */
  const shared = new Map<string, BrowserContext>()
  /** A process ends with its last page. */
  const keepers = new Map<BrowserContext, Page>()

  beforeAll(async () => {
    execFileSync(process.execPath, ['scripts/page.mjs'], { stdio: 'pipe' })
    browser = await chromium.launch({ executablePath: `/usr/bin/${BROWSER}`, args: FLAGS })
  }, 120_000)
  afterAll(() => browser?.close())
  afterEach(async () => {
    for (const context of browser.contexts()) {
      const keeper = keepers.get(context)
      if (keeper === undefined) await context.close()
      else await empty(context, keeper)
    }
    for (const { server } of settings.splice(0)) await server.close()
  })

  async function blank(look: Look = {}): Promise<Page> {
    const { width = WIDTH, height = HEIGHT, alone = false, until: _, ...rest } = look
    const context = alone ? await newContext(rest) : await sharedContext(rest)
    const page = await context.newPage()
    if (width !== WIDTH || height !== HEIGHT) await page.setViewportSize({ width, height })
    return page
  }

  async function sharedContext(look: ContextLook): Promise<BrowserContext> {
    const key = JSON.stringify(look)
    const known = shared.get(key)
    if (known !== undefined) return known
    const context = await newContext(look)
    shared.set(key, context)
    keepers.set(context, await context.newPage())
    return context
  }

  async function newContext({ scripts = true, ...rest }: ContextLook): Promise<BrowserContext> {
    const context = await browser.newContext({
      viewport: { width: WIDTH, height: HEIGHT },
      javaScriptEnabled: scripts,
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...rest,
    })
    context.setDefaultTimeout(60_000)
    return context
  }

  return {
    blank,
    async serve(setting, scheme = 'http') {
      settings.push(setting)
      const { port } = await setting.server.listen()
      return `${scheme}://127.0.0.1:${port}`
    },
    async show(url, look = {}) {
      const page = await blank(look)
      const complaints = complaintsOf(page, new URL(url).origin)
      const loaded: Seen['loaded'] = []
      page.on('response', (response) => {
        const { pathname: path } = new URL(response.url())
        if (!path.startsWith('/api/')) loaded.push({ path, response })
      })
      await page.goto(url)
      await page.waitForSelector(look.until ?? (look.scripts === false ? 'h1' : DRAWN))
      return { page, complaints, loaded }
    },
  }
}

/** As if it was new, at addresses that it has not seen. */
async function empty(context: BrowserContext, keeper: Page): Promise<void> {
  for (const page of context.pages()) if (page !== keeper) await page.close()
  await context.clearCookies()
  await context.clearPermissions()
}

/** As if another tab was in front of it, or no longer. */
export async function hide(tab: Page, hidden: boolean): Promise<void> {
  await tab.evaluate((to) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => to })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)
}

/** What the browser has to say against the page from now on, and every request that leaves its origin. */
export function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(request.url())
  })
  return complaints
}

/**
 * What axe-core finds in dark colours on a screen and in light ones on a phone, and what sticks out there. Colours are the same in
 * both widths, and all else in both schemes.
 */
export async function findingsInAllLooks(page: Page): Promise<string[]> {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ colorScheme: 'dark' })
  const onScreen = [await findings(page), await excessWidth(page)]
  await page.setViewportSize({ width: 390, height: 844 })
  await page.emulateMedia({ colorScheme: 'light' })
  return [...onScreen, await findings(page), await excessWidth(page)].flat()
}

async function findings(page: Page): Promise<string[]> {
  // By the debugger's way in: the page's own policy lets nothing inline run.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return page.evaluate(runAxe)
}

/**
 * Runs in the page. Of the rows, tiles, entries and small charts that differ in words only, axe reads the first. The others are taken
 * out meanwhile, because axe walks over all elements many times; that no two have one id is checked before.
 */
async function runAxe(): Promise<string[]> {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  const twice = ids.filter((id, at) => ids.indexOf(id) < at).map((id) => `more than one element is #${id}`)
  const kinds = new Set<string>()
  const exclude: Element[] = []
  const taken: (readonly [row: Element, place: Comment])[] = []
  for (const row of document.querySelectorAll('tbody > tr, .tiles > li, .menu li, ul.plain > li, .small-charts')) {
    const parts = [row, ...row.querySelectorAll(':not(svg *)')].map((part) => {
      const attributes = [...part.attributes].filter(({ name }) =>
        /^(class|role|hidden|data-state|aria-(?!label)\w+)$/.test(name),
      )
      return [
        part.tagName,
        ...attributes.map(({ name, value }) => `${name}=${value}`),
        part.textContent?.trim() === '',
      ].join()
    })
    const kind = [row.parentElement?.className, ...parts].join()
    if (!kinds.has(kind)) kinds.add(kind)
    // A table or list without any row would be of another kind.
    else if (row.previousElementSibling === null) exclude.push(row)
    else taken.push([row, document.createComment('')])
  }
  for (const [row, place] of taken) row.replaceWith(place)
  try {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(
      { include: [['html']], exclude: exclude.filter(({ isConnected }) => isConnected) },
      { resultTypes: ['violations'] },
    )
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
    )
    return [...twice, ...found]
  } finally {
    for (const [row, place] of taken) place.replaceWith(row)
  }
}

/** What sticks out to the right. */
export async function excessWidth(page: Page): Promise<string[]> {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  return excess > 0 ? [`sticks out by ${excess} px`] : []
}
