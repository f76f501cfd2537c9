import { describe, expect, test } from 'vitest'
import { HELP, helpText } from '../../src/commands/help.ts'
import { EXIT } from '../../src/commands/io.ts'
import { COMMANDS, heartlineCalls, problemOf } from '../support/command-lines.ts'
import { runHeartline, runHere } from '../support/daemon.ts'

describe.each(['', ...COMMANDS, 'caller new', 'notify test', 'silence list', 'silence end'])(
  'heartline %s --help',
  (command) => {
    test('has options, examples and exit statuses, in lines that fit a terminal', async () => {
      const { status, out } = await runHere([...command.split(' ').filter((word) => word !== ''), '--help'])

      expect(status).toBe(0)
      for (const section of ['Usage: heartline', 'Options:', 'Examples:', 'Exit status:'])
        expect(out).toContain(section)
      expect(out.split('\n').filter((line) => line.length > 84)).toEqual([])
    })
  },
)

test.each(['', ...COMMANDS, 'notify test', 'silence end'])(
  '`heartline help %s` prints what --help prints',
  async (command) => {
    const words = command === '' ? [] : command.split(' ')

    expect(await runHere(['help', ...words])).toEqual(await runHere([...words, '--help']))
  },
)

test.each(['none', 'silence none'])('`heartline help %s` is an invalid command line, and says why', async (words) => {
  const { status, out, err } = await runHere(['help', ...words.split(' ')])

  expect([status, out]).toEqual([EXIT.usage, ''])
  expect(err.trim()).toBe("error: unknown command 'none'\nRun with --help for usage.")
})

test('commands that read a configuration document its source; long-running ones document their signals', () => {
  for (const name of ['heartline', 'serve', 'probe', 'check-config', 'backup'] as const) {
    expect(helpText(HELP[name])).toContain('HEARTLINE_CONFIG')
  }
  for (const name of ['serve', 'demo', 'simulate'] as const) expect(helpText(HELP[name])).toContain('SIGTERM')
  expect(helpText(HELP.serve)).toContain('SIGHUP')
})

test('help documents every exit status that exists, and no other', () => {
  const known = new Set([...Object.values(EXIT).map(String), '143'])
  const told = new Set(Object.values(HELP).flatMap(({ exit }) => exit.flatMap(([status]) => status.split(', '))))

  expect(told).toEqual(known)
})

test('the help of heartline names each command that exits with 1 or 2', () => {
  const commands = Object.entries(HELP).map(([name, page]) => [name === 'test' ? 'notify test' : name, page] as const)
  const ones = commands.filter(([name]) => name !== 'heartline' && name !== 'notify')
  for (const status of ['1', '2']) {
    const [, means = ''] = HELP.heartline.exit.find(([of]) => of.split(', ').includes(status)) ?? []
    const exiting = ones.filter(([, { exit }]) => exit.some(([of]) => of === status))

    expect(exiting.filter(([name]) => !means.includes(name))).toEqual([])
  }
})

test.each(Object.entries(HELP))('the examples of %s are calls that are understood', async (_name, { examples }) => {
  for (const [example] of examples) {
    const [call] = heartlineCalls(example)

    expect(call, example).toBeDefined()
    expect(await problemOf(call!), example).toBeNull()
  }
})

test('an invalid command line prints a short error that points to --help', async () => {
  const { status, err } = await runHeartline(['serve', '--no-such-option'])

  expect(status).toBe(EXIT.usage)
  expect(err).toContain('--no-such-option')
  expect(err).toContain('--help')
  expect(err.trim().split('\n').length).toBeLessThan(4)
})
