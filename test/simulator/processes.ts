import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url))

/** What the control interface shows. */
export interface ControlStatus {
  readonly halted: boolean
  readonly heads: readonly {
    readonly shard: number | null
    readonly height: number
    readonly hash: string
    readonly chain_height: number
  }[]
  readonly faults: readonly { readonly kind: string }[]
}

/** A `heartline simulate` of its own, and its control interface. */
export interface SimulatedProcess {
  readonly url: string
  readonly control: string
  inject(fault: object): Promise<ControlStatus>
  heal(kind?: string): Promise<void>
  status(): Promise<ControlStatus>
  stop(): Promise<number | null>
}

export async function simulateProcess(...args: readonly string[]): Promise<SimulatedProcess> {
  const child = spawn(process.execPath, [MAIN, 'simulate', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [url, control] = await addressesOf(child)

  async function asked(path: string, init?: RequestInit): Promise<ControlStatus> {
    const answer = await fetch(`${control}${path}`, init)
    const body = await answer.json()
    if (!answer.ok) throw new Error(JSON.stringify(body))
    return body as ControlStatus
  }

  return {
    url,
    control,
    status: () => asked(''),
    inject: (fault) => asked('/faults', { method: 'POST', body: JSON.stringify(fault) }),
    heal: async (kind) => void (await asked(kind === undefined ? '/faults' : `/faults/${kind}`, { method: 'DELETE' })),
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

function addressesOf(child: ChildProcess): Promise<readonly [url: string, control: string]> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const [, url, control] = /url +(\S+)\n +control +(\S+)\n/.exec(said) ?? []
      if (url !== undefined && control !== undefined) resolve([url, control])
    })
    child.once('exit', () => reject(new Error(`ended before it listened: ${said}`)))
  })
}
