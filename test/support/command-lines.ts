import { runHere } from './daemon.ts'

/** How a checkout, an installed package and a container call the same command. */
const CALLED =
  /^(?:sudo )?(?:npx heartline|heartline|(?:\/usr\/bin\/)?node (?:\S*\/)?dist\/src\/main\.js|npm start --)(?= |$)/

/** Every call of heartline in a text of shell commands, as its arguments. */
export function heartlineCalls(shell: string): string[][] {
  return shell
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.replace(/(^|\s)#.*$/, '').split(/&&|\|\||[|;>]/))
    .map((call) => call.trim())
    .filter((call) => CALLED.test(call))
    .map((call) => call.replace(CALLED, '').trim())
    .map((call) => (call === '' ? [] : call.split(/\s+/)))
}

export const COMMANDS: ReadonlySet<string> = new Set([
  'serve',
  'demo',
  'probe',
  'init',
  'check-config',
  'simulate',
  'backup',
  'migrate-store',
  'caller',
  'notify',
  'silence',
  'note',
  'schema',
])
const helps = new Map<string, Promise<string>>()

function helpOf(command: string): Promise<string> {
  const words = command === '' ? [] : command.split(' ')
  const known = helps.get(command) ?? runHere([...words, '--help']).then(({ out }) => out)
  helps.set(command, known)
  return known
}

/** What is wrong with a call, by the help of its command; `null` where nothing is. */
export async function problemOf(args: readonly string[]): Promise<string | null> {
  const words = args.filter(
    (arg, at) => !arg.startsWith('-') && !/^(-c|--config|--log-level)$/.test(args[at - 1] ?? ''),
  )
  const [first = ''] = words
  if (first !== '' && !COMMANDS.has(first)) return `there is no command ${first}`
  const hasParts =
    ['caller', 'notify'].includes(first) || (first === 'silence' && ['list', 'end'].includes(words[1] ?? ''))
  const command = hasParts && words[1] !== undefined ? `${first} ${words[1]}` : first
  const help = await helpOf(command)
  const options = args.filter((arg) => arg.startsWith('-')).map((arg) => arg.split('=', 1)[0]!)
  const unknown = options.find((option) => !new RegExp(`^  .*${option}\\b`, 'm').test(help))
  return unknown === undefined ? null : `${command || 'heartline'} has no option ${unknown}`
}
