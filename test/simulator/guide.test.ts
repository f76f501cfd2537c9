import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONDITION_CODES } from '../../src/core/verdict/condition.ts'
import { type EndpointView, removeFolder, type StatusView, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { checkout } from '../support/project.ts'

/**
 * The guide to rehearsals, pasted into a shell: every command that is in it, in its order within each network, over the real
 * daemon and real `heartline simulate`s. Only the ports are others, and time runs four times as fast.
 */
const FASTER = 4
const LONG = 600_000
/** For busy machines: elsewhere everything is seen within seconds. */
const PATIENCE_MS = 180_000
const GUIDE = readFileSync(join(checkout, 'docs/guides/rehearse-your-alerts.md'), 'utf8')

interface Section {
  readonly title: string
  readonly commands: readonly string[]
  /** What is said to be seen, by where. */
  readonly rows: Readonly<Record<string, string>>
}

function sectionsOf(heading: string, level: '##' | '###'): readonly Section[] {
  const chapter = GUIDE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const parts = level === '##' ? [chapter] : chapter.split(/^### /m).slice(1)
  return parts.map((part) => ({
    title: part.split('\n')[0] ?? '',
    commands: [...part.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block]) => block ?? ''),
    rows: Object.fromEntries(
      [...part.matchAll(/^\| ([A-Za-z, ]+) \| `(.+)` \|$/gm)].map(([, where, what]) => [where, what]),
    ),
  }))
}

const CONDITIONS = sectionsOf('The conditions', '###')
const SILENT = sectionsOf('What must not cause alerts', '###')
const NETWORKS = ['ethereum', 'avalanche', 'multiversx'] as const

/** Which network a section is about, by the first port that it names. */
function networkOf({ commands }: Section): string {
  return NETWORKS[Number(/185(\d)\d/.exec(commands.join())?.[1])] ?? ''
}

let folder: string
let shell: ReturnType<typeof startShell>
const ports = new Map<string, number>()
let pasted = 0

beforeAll(async () => {
  folder = temporaryFolder()
  symlinkSync(join(checkout, 'dist'), join(folder, 'dist'))
  for (const port of new Set(GUIDE.match(/\b(?:185\d\d|9790)\b/g))) ports.set(port, await freePort())
  shell = startShell(folder)
  for (const block of sectionsOf('Set up', '##')[0]?.commands ?? []) await paste(block)
  for (const network of NETWORKS) await untilWell(network)
}, LONG)
afterAll(async () => {
  await shell.end()
  removeFolder(folder)
})

function startShell(cwd: string) {
  const child: ChildProcess = spawn('bash', ['-s'], { cwd, stdio: 'pipe' })
  const ended = once(child, 'exit')
  let out = ''
  let turn = 0
  let work = Promise.resolve('')
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
  }

  /** What was printed until the last of these commands had run. */
  async function runNow(commands: string): Promise<string> {
    const from = out.length
    const end = `-- end ${++turn} --`
    child.stdin?.write(`${commands}\necho '${end}'\n`)
    await until(() => out.includes(end, from), `run: ${commands}`, 30_000)
    return out.slice(from, out.indexOf(end, from))
  }

  return {
    run(commands: string): Promise<string> {
      work = work.then(() => runNow(commands))
      return work
    },
    async end() {
      child.stdin?.end('kill $(jobs -p) 2> /dev/null\n')
      await ended
    },
  }
}

/** Runs a block of the guide, and expects it to print nothing: whatever it would print is a complaint. */
async function paste(block: string): Promise<void> {
  const moved = block.replace(/\b(?:185\d\d|9790)\b/g, (port) => String(ports.get(port)))
  const faster = moved.replace(/(?<![-\d])(\d+)(ms|s)\b/g, (_, count: string, unit: string) =>
    unit === 's' ? `${(Number(count) * 1000) / FASTER}ms` : `${Math.round(Number(count) / FASTER)}ms`,
  )
  pasted++
  expect(await shell.run(faster)).toBe('')
  scraped = null
}

async function get(path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${ports.get('9790')}${path}`)).text()
}

const SCRAPE_EVERY_MS = 150
let scraped: { readonly at: number; readonly text: Promise<string> } | null = null

/** The tests of all networks share a scrape, which is newer than what was pasted last. */
function scrape(): Promise<string> {
  const at = performance.now()
  if (scraped === null || at - scraped.at > SCRAPE_EVERY_MS) scraped = { at, text: get('/metrics') }
  return scraped.text
}

async function metricLines(network: string): Promise<readonly string[]> {
  return (await scrape()).split('\n').filter((line) => line.includes(`{network="${network}"`))
}

/** Everything that is wrong in this network just now. */
async function troubles(network: string): Promise<readonly string[]> {
  return troublesIn(await metricLines(network))
}

const endpointOf = (line: string) => /endpoint="([^"]+)"/.exec(line)?.[1]

/**
 * Without what a machine without spare CPU time has for moments: Heartline is impaired, in which every state is unknown,
 * and endpoints are only slow.
 */
function unexplained(lines: readonly string[]): readonly string[] {
  const conditions = lines.filter((line) => line.startsWith('heartline_endpoint_condition'))
  const isSlow = (line: string) => line.includes('condition="slow"')
  const otherwise = new Set(conditions.filter((line) => !isSlow(line)).map(endpointOf))
  const isExplained = (line: string) =>
    line.includes('state="unknown"') ||
    ((isSlow(line) || line.includes('state="degraded"')) && !otherwise.has(endpointOf(line)))
  return lines.filter((line) => !isExplained(line))
}

function troublesIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) =>
    /^heartline_(?:endpoint_condition|network_halted|network_forked|endpoint_state\{.*state="(?:down|degraded|unknown)").* 1$/.test(
      line,
    ),
  )
}

async function untilWell(network: string): Promise<void> {
  const isWell = async () => {
    const lines = await metricLines(network).catch(() => [])
    return lines.length > 0 && troublesIn(lines).length === 0
  }
  await until(isWell, `${network} is well`, PATIENCE_MS)
}

/** The guide's sentence with its numbers and durations left open: time is another here. */
function pattern(sentence: string): RegExp {
  const escaped = sentence.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(
    escaped.replace(/\d+(?:\\\.\d+)? (?:ms|s|min|h)\b|\d+/g, (found) =>
      found.includes(' ') ? '\\d+(?:\\.\\d+)? (?:ms|s|min|h)' : '\\d+',
    ),
  )
}

async function untilSaid({ title, rows }: Section, network: string): Promise<void> {
  const series = rows.Prometheus ?? ''
  await until(async () => (await metricLines(network)).includes(series), `${title}: ${series}`, PATIENCE_MS)
  if (rows.API !== undefined) {
    const view = JSON.stringify(JSON.parse(await get(`/api/v1/networks/${network}`)))
    expect(view).toContain(rows.API)
    expect(unexplained(await troubles(network)).filter((line) => line.includes('endpoint='))).toEqual([])
    return
  }
  const name = endpointOf(series)
  let view: EndpointView | null = null
  const isSaid = async () => {
    view = JSON.parse(await get(`/api/v1/endpoints/${network}/${name}`)) as EndpointView
    return (
      view.state === rows.state && view.conditions.some(({ message }) => pattern(rows['page, API'] ?? '').test(message))
    )
  }
  await until(isSaid, `${title}: ${JSON.stringify(rows)}`, PATIENCE_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(view?.conditions)}`)
  })
  const others = unexplained(await troubles(network)).filter((line) => endpointOf(line) !== name)
  expect(others).toEqual([])
}

/** Polls of all the network's endpoints, so far. */
async function leastPolls(network: string): Promise<number> {
  const counts = (await metricLines(network)).filter((line) => /^heartline_checks_total\{.*check="head"/.test(line))
  return Math.min(...counts.map((line) => Number(line.split(' ').at(-1))))
}

describe.concurrent('the guide to rehearsals', () => {
  test.each(NETWORKS)('brings about, shows and heals what it says it does (%s)', { timeout: LONG }, async (network) => {
    for (const section of CONDITIONS.filter((candidate) => networkOf(candidate) === network)) {
      const [bring = '', heal = ''] = section.commands
      await paste(bring)
      await untilSaid(section, network)
      await paste(heal)
      await untilWell(network)
    }
    for (const { title, commands } of SILENT.filter((candidate) => networkOf(candidate) === network)) {
      const [bring = '', heal = ''] = commands
      let before = await leastPolls(network)
      await paste(bring)
      const isProven = async () => {
        const wrong = await troubles(network)
        expect(unexplained(wrong), title).toEqual([])
        const polls = await leastPolls(network)
        if (wrong.length > 0) before = polls
        return polls >= before + 8
      }
      await until(isProven, `${title}: eight polls in a row`, PATIENCE_MS)
      await paste(heal)
      await untilWell(network)
    }
  })
})

describe('the guide to rehearsals, at its end', () => {
  test('has a drill that orders every fault of its timetable', { timeout: LONG }, async () => {
    const [drill = ''] = sectionsOf('A scheduled drill', '##')[0]?.commands ?? []
    const timetable = drill.split('\n').filter((line) => /^\d+ /.test(line))

    await paste(drill.replace('start=$(date +%s)', 'start=0'))

    const log = readFileSync(join(folder, 'rehearsal/drill.log'), 'utf8').trim().split('\n')
    expect(timetable.length).toBeGreaterThan(5)
    expect(log).toHaveLength(timetable.length)
    const status = JSON.parse(await get('/api/v1/status')) as StatusView
    expect(status.networks).toHaveLength(3)
  })

  test('cleans up after itself, and nothing of it was left out', { timeout: LONG }, async () => {
    const [cleanUp = ''] = sectionsOf('Clean up', '##')[0]?.commands ?? []

    await paste(cleanUp)

    expect(await shell.run('wait; jobs -pr; ls')).toBe('dist\n')
    expect(pasted).toBe(GUIDE.match(/^```bash$/gm)?.length)
  })

  test('has a section for every condition, and for what befalls a whole network', () => {
    const titles = CONDITIONS.map(({ title }) => title.replace(/`/g, '').split(',')[0])

    // What only several daemons see is no fault of a node.
    const ofOneDaemon = CONDITION_CODES.filter((code) => code !== 'partial')
    expect(new Set(titles)).toEqual(new Set([...ofOneDaemon, 'A forked network', 'A halted network']))
    for (const { commands, rows } of CONDITIONS) {
      expect(commands).toHaveLength(2)
      expect(rows.Prometheus).toMatch(/^heartline_.* 1$/)
      expect(rows.API ?? rows['page, API']).toBeDefined()
      expect(rows.API === undefined).toBe(rows.state !== undefined)
    }
  })
})
