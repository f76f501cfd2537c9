import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'
import { build } from './build.mjs'
import { root } from './prepare.mjs'
import { giveUp, say } from './say.mjs'
import { which } from './which.mjs'

// `npm run screenshots`: the README's pictures, taken of the running demo at a moment when one endpoint is down and
// another degraded. The first such moment comes within two minutes; a whole cycle of the demo's faults takes three.
const FOLDER = join(root, 'docs/screenshots')
const PATIENCE_MS = 200_000
const PICTURES = [
  { file: 'overview.png', width: 1280, colorScheme: 'light' },
  { file: 'overview-dark.png', width: 1280, colorScheme: 'dark' },
  { file: 'overview-phone.png', width: 390, colorScheme: 'light' },
]

const executablePath = which('chromium')
if (executablePath === null) giveUp('chromium is missing. As root: apt-get install chromium')
if (!(await build())) giveUp('it does not compile; see above.')

const demo = spawn(process.execPath, [join(root, 'dist/src/main.js'), 'demo', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  await takeAll(await addressOf(demo))
} finally {
  demo.kill('SIGTERM')
}

/** The page's address is the line that is nothing else. */
async function addressOf({ stdout }) {
  for await (const line of createInterface({ input: stdout })) if (/^https?:\S+$/.test(line)) return line
  return giveUp('the demo ended before it said where its page is.')
}

async function takeAll(address) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    // All pages are open before the moment comes, so that all show the same.
    const pages = await Promise.all(PICTURES.map((picture) => open(browser, address, picture)))
    say('waiting for an endpoint to be down and another to be degraded …')
    await Promise.all(pages.map(showsTwoFaults))
    mkdirSync(FOLDER, { recursive: true })
    await Promise.all(
      pages.map((page, at) =>
        page.screenshot({ path: join(FOLDER, PICTURES[at].file), fullPage: true, animations: 'disabled' }),
      ),
    )
    say(`docs/screenshots: ${PICTURES.map(({ file }) => file).join(', ')}`)
  } finally {
    await browser.close()
  }
}

async function open(browser, address, { width, colorScheme }) {
  const context = await browser.newContext({
    viewport: { width, height: 600 },
    deviceScaleFactor: 1.5,
    colorScheme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await page.goto(address)
  return page
}

function showsTwoFaults(page) {
  return page.waitForFunction(
    () => document.querySelector('tr.down') !== null && document.querySelector('tr.degraded') !== null,
    undefined,
    { timeout: PATIENCE_MS, polling: 100 },
  )
}
