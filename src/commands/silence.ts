import { printable, stamp, table } from '../http/plain-text.ts'
import { SilencesView, SilenceView } from '../http/wire/silences.ts'
import { askDaemon } from './ask-daemon.ts'
import type { CommandIo } from './io.ts'

export interface SilenceOptions {
  readonly file: string
  /** NETWORK or NETWORK/ENDPOINT. */
  readonly target: string
  readonly forMs: number
  readonly reason: string
}

/** Begins a silence in the running daemon. */
export async function silence({ file, target, forMs, reason }: SilenceOptions, io: CommandIo) {
  const [network, endpoint = null] = target.split(/\/(.*)/s)
  const body = { network, endpoint, duration_seconds: forMs / 1000, reason }
  const ask = { method: 'POST', path: '/api/v1/silences', body, shape: SilenceView } as const
  return askDaemon(file, ask, io, (begun) => {
    return `${begun.id}: no messages about ${subjectOf(begun)} until ${endOf(begun)}`
  })
}

/** Prints the silences that hold now. */
export async function listSilences({ file }: Pick<SilenceOptions, 'file'>, io: CommandIo) {
  const ask = { method: 'GET', path: '/api/v1/silences', shape: SilencesView } as const
  return askDaemon(file, ask, io, ({ silences }) => {
    const rows = silences.map((one) => [one.id, subjectOf(one), endOf(one), printable(one.reason)])
    return rows.length === 0 ? 'no silences' : table([TITLES, ...rows], '', []).join('\n')
  })
}

/** Ends a silence. */
export async function endSilence({ file, id }: Pick<SilenceOptions, 'file'> & { readonly id: string }, io: CommandIo) {
  const path = `/api/v1/silences/${encodeURIComponent(id)}`
  return askDaemon(file, { method: 'DELETE', path, shape: SilenceView } as const, io, (ended) => {
    return `${ended.id}: ended, messages about ${subjectOf(ended)} are sent again unless another silence holds`
  })
}

const TITLES = ['ID', 'ABOUT', 'UNTIL', 'REASON']

function subjectOf({ network, endpoint }: SilenceView): string {
  return endpoint === null ? network : `${network}/${endpoint}`
}

function endOf({ until }: SilenceView): string {
  return `${stamp(Date.parse(until))} UTC`
}
