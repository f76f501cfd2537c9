import type { Board, BoardNetwork } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { IncidentSource } from './incident-source.ts'
import type { Audience } from './wire/status.ts'

/** What each audience may see: the public sees nothing of networks that `server.public_page.networks` does not name. */
export function createScopes({ board, incidents, source, publicNetworks: names }: ScopesDeps): Scopes {
  const all = { board, incidents, source, shows: () => true }
  if (names === null) return { private: all, public: all }
  const shows = (network: string) => names.includes(network)
  return {
    private: all,
    public: { board: limitedBoard(board, shows), incidents: limitedLog(incidents, shows), source: limited(), shows },
  }

  function limited(): IncidentSource {
    return {
      list: (filter) => source.list({ ...filter, networks: names ?? [] }),
      async one(id) {
        const incident = await source.one(id)
        return incident !== null && shows(incident.network) ? incident : null
      },
    }
  }
}

export type Scopes = Readonly<Record<Audience, Scope>>

export interface Scope {
  readonly board: Board
  readonly incidents: IncidentLog
  readonly source: IncidentSource
  shows(network: string): boolean
}

interface ScopesDeps extends Pick<Scope, 'board' | 'incidents' | 'source'> {
  /** `null`: all. */
  readonly publicNetworks: readonly string[] | null
}

type Shows = Scope['shows']

function limitedBoard(board: Board, shows: Shows): Board {
  const networks = keptWhileSame(board.networks, (one: BoardNetwork) => shows(one.standing.network.name))
  const maintenance = keptWhileSame(board.maintenance, ({ network }) => shows(network))
  return {
    networks,
    maintenance,
    network: (name) => (shows(name) ? board.network(name) : undefined),
    entry: (network, endpoint) => (shows(network) ? board.entry(network, endpoint) : undefined),
    announcements: board.announcements,
    subscribe: (listener) => board.subscribe((change) => (shows(change.network) ? listener(change) : undefined)),
  }
}

/** Readers of the board compare lists by identity. */
function keptWhileSame<T>(read: () => readonly T[], isShown: (one: T) => boolean): () => readonly T[] {
  let known: { readonly of: readonly T[]; readonly shown: readonly T[] } | null = null
  return () => {
    const of = read()
    if (known?.of !== of) known = { of, shown: of.filter(isShown) }
    return known.shown
  }
}

function limitedLog(incidents: IncidentLog, shows: Shows): IncidentLog {
  return {
    open: () => incidents.open().filter(({ network }) => shows(network)),
    recent: () => incidents.recent().filter(({ network }) => shows(network)),
    of: (endpoint) => (shows(endpoint.network) ? incidents.of(endpoint) : null),
    subscribe: (listener) => incidents.subscribe((one) => (shows(one.network) ? listener(one) : undefined)),
  }
}
