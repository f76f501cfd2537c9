import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { build } from './build.mjs'
import { root } from './prepare.mjs'
import { giveUp, say } from './say.mjs'
import { startFleet } from './screenshot-fleet.mjs'
import { which } from './which.mjs'

// `npm run screenshots` takes the pictures of the README and the documentation from the running demo, each when its view
// shows a fault, and one of three hundred endpoints. The demo repeats its faults every three minutes; its history of 90 days is simulated.
const FOLDER = join(root, 'docs/screenshots')
const RUNS_FIRST_MS = 40_000
const PATIENCE_MS = 240_000
const ASKS_EVERY_MS = 250
const SETTLES_MS = 1500
const MOST_BYTES = 250_000

const anyEndpoint = (status, is) =>
  status.networks.flatMap((network) => network.endpoints.map((endpoint) => ({ network, endpoint }))).find(is)
const holds = ({ conditions }, code) => conditions.some((condition) => condition.code === code)
const overview = (status) =>
  anyEndpoint(status, ({ endpoint }) => endpoint.state === 'down') &&
  anyEndpoint(status, ({ endpoint }) => endpoint.state === 'degraded') &&
  '/'

/** Three hundred endpoints, all of them judged. */
const wall = (faults) => (status) => {
  const states = status.networks.flatMap(({ endpoints }) => endpoints.map(({ state }) => state))
  return states.filter((state) => state !== 'up').length === faults && '/'
}

/** `at` returns the address to take, from the status and the incidents; falsy while that view shows no fault yet. */
const PICTURES = [
  {
    at: overview,
    shots: [{ file: 'overview' }, { file: 'overview-dark', dark: true }, { file: 'overview-phone', phone: true }],
  },
  {
    at(status) {
      const found = anyEndpoint(status, ({ endpoint }) => endpoint.heads.length === 1 && holds(endpoint, 'lagging'))
      return found && `/networks/${found.network.name}`
    },
    shots: [{ file: 'network' }],
  },
  {
    at(status) {
      const found = anyEndpoint(
        status,
        ({ endpoint }) => endpoint.liveness !== null && holds(endpoint, 'check-failing'),
      )
      return found && `/endpoints/${found.network.name}/${found.endpoint.name}`
    },
    shots: [{ file: 'endpoint', dark: true, height: 1000 }],
  },
  {
    at(_status, { incidents }) {
      const over = incidents.filter(({ closed_at: closedAt, cause }) => closedAt !== null && cause === 'endpoint')
      const longest = over.toSorted((a, b) => b.duration_seconds - a.duration_seconds)[0]
      return longest && `/incidents/${longest.id}`
    },
    shots: [{ file: 'incident' }],
  },
  { at: () => '/gateway', shots: [{ file: 'gateway' }] },
]

const executablePath = which('chromium-headless-shell') ?? which('chromium')
if (executablePath === null) giveUp('chromium is missing. As root: apt-get install chromium')
if (which('pngquant') === null) giveUp('pngquant is missing. As root: apt-get install pngquant')
if (!(await build())) giveUp('the build failed; see above.')

const demo = spawn(process.execPath, [join(root, 'dist/src/main.js'), 'demo', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('exit', () => demo.kill('SIGTERM'))
await takeAll(await addressOf(demo), PICTURES)
demo.kill('SIGTERM')
const fleet = await startFleet()
await takeAll(fleet.url, [{ at: wall(fleet.faults), shots: [{ file: 'wall', height: 800 }] }])
await fleet.stop()

/** The page's address stands on a line of its own. */
async function addressOf({ stdout }) {
  for await (const line of createInterface({ input: stdout })) if (/^https?:\S+$/.test(line)) return line
  return giveUp('the demo ended before it said where its page is.')
}

async function takeAll(address, pictures) {
  mkdirSync(FOLDER, { recursive: true })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    say('the demo runs for a while, so that there is a history …')
    await pause(RUNS_FIRST_MS)
    for (const { at, shots } of pictures) {
      say(`waiting for something to see: ${shots.map(({ file }) => file).join(', ')} …`)
      const path = await moment(address, at)
      // In parallel, so that all of them show the same moment.
      await Promise.all(shots.map((shot) => take(browser, new URL(path, address).href, shot)))
    }
  } finally {
    await browser.close()
  }
}

async function moment(address, at) {
  for (let waited = 0; waited < PATIENCE_MS; waited += ASKS_EVERY_MS) {
    const [status, list] = await Promise.all(
      ['/api/v1/status', '/api/v1/incidents'].map(async (path) => (await fetch(new URL(path, address))).json()),
    )
    const path = at(status, list)
    if (path) return path
    await pause(ASKS_EVERY_MS)
  }
  return giveUp('no view with that fault appeared in time.')
}

/** Takes the whole page, or the first `height` pixels of it. */
async function take(browser, address, { file, dark = false, phone = false, height }) {
  const context = await browser.newContext({
    viewport: { width: phone ? 390 : 1280, height: height ?? 600 },
    deviceScaleFactor: 1.5,
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await page.goto(address)
  await page.waitForSelector('.lamp.on')
  // Charts are loaded separately and drawn a frame later.
  await pause(SETTLES_MS)
  const screenshot = await page.screenshot({ fullPage: height === undefined, animations: 'disabled' })
  // 256 colours: a third of the bytes, and no visible difference.
  const picture = execFileSync('pngquant', ['--strip', '-'], { input: screenshot })
  await context.close()
  if (picture.length > MOST_BYTES) giveUp(`${file}.png has ${picture.length} bytes, too many for the README.`)
  writeFileSync(join(FOLDER, `${file}.png`), picture)
  say(`docs/screenshots/${file}.png, ${Math.round(picture.length / 1000)} KB`)
}
