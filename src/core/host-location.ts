/** `hostname`: as in `URL`, in lower case. */
export function locationOf(hostname: string): HostLocation {
  const hasName = !ADDRESS.test(hostname)
  if (LOOPBACK.test(hostname)) {
    // Three spellings of one host; other loopback addresses are deliberately separate hosts.
    const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname
    return { host, zone: 'loopback', hasName: false }
  }
  const isPrivate = hasName ? PRIVATE_NAME.test(hostname) : PRIVATE_ADDRESS.test(hostname)
  return { host: hostname, zone: isPrivate ? 'private' : 'public', hasName }
}

/** Endpoints with the same location fail together. */
export interface HostLocation {
  readonly host: string
  readonly zone: Zone
  /** The host is a name that has to be resolved, not an address. */
  readonly hasName: boolean
}

/** Distance of a host from this machine, derived from its name or address alone. */
export type Zone = 'loopback' | 'private' | 'public'

export const DISTANCE: Record<Zone, number> = { loopback: 0, private: 1, public: 2 }

/** Whether an answer from `witness` shows that our network works as far as `location`. */
export function isWitnessFor(witness: HostLocation, location: HostLocation): boolean {
  return witness.host !== location.host && DISTANCE[witness.zone] >= DISTANCE[location.zone]
}

const ADDRESS = /^(\d{1,3}\.){3}\d{1,3}$|^\[.*\]$/
const LOOPBACK = /^(localhost|.*\.localhost|127\.(\d{1,3}\.){2}\d{1,3}|\[::1\])$/
const PRIVATE_ADDRESS =
  /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[f[cd]|\[fe[89ab])/
/** Names without a dot, and zones that public name servers do not resolve. */
const PRIVATE_NAME = /^[^.]+$|\.(local|lan|home|internal|intranet|corp|home\.arpa)$/
