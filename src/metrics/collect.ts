import type { Clock } from '../clock.ts'
import type { BoardEntry, BoardNetwork } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { type EndpointLines, renderEndpoints } from './endpoint-series.ts'
import { endOf, type Format } from './exposition-format.ts'
import { bytesOf, type DeferredLines, type Lines, textOf } from './lines.ts'
import { renderNetworks } from './network-series.ts'
import { headerOf, METRIC_NAMES, type MetricName } from './registry.ts'

/**
 * Renders all metrics in slices of endpoints; each slice adds to every metric, because both formats require all series
 * of a metric together. All series of one endpoint are read at the same moment.
 */
export async function collect({
  networks,
  incidents,
  ownLines,
  processText,
  format,
  sparse,
  clock,
  yieldToLoop,
}: CollectDeps): Promise<Exposition> {
  const pieces = new Map<MetricName, Piece[]>(METRIC_NAMES.map((name) => [name, []]))
  function keep(lines: EndpointLines): void {
    for (const [name, found] of Object.entries(lines)) {
      if (found !== '') pieces.get(name as MetricName)?.push(typeof found === 'string' ? Buffer.from(found) : found)
    }
  }

  keep(ownLines)
  keep(renderNetworks(networks, incidents, clock.now()))
  let heldSince = clock.monotonic()
  let holdMs = SHORTEST_HOLD_MS
  for (const slice of slices(networks)) {
    keep(renderEndpoints(slice, incidents, clock.now(), sparse))
    const yieldedAt = clock.monotonic()
    if (yieldedAt - heldSince < holdMs) continue
    await yieldToLoop()
    heldSince = clock.monotonic()
    holdMs = Math.min(Math.max(SHORTEST_HOLD_MS, (heldSince - yieldedAt) / 4), LONGEST_HOLD_MS)
  }
  // Help and type are there before a metric has its first series, so that readers can tell it from a misspelt one.
  const own = METRIC_NAMES.flatMap((name) => [Buffer.from(headerOf(name, format)), ...(pieces.get(name) ?? [])])
  return expositionOf([...own, Buffer.from(processText + endOf(format))])
}

type Piece = Buffer | readonly DeferredLines[]

/** One rendering, whose text can reach 46 MB. */
export interface Exposition {
  readonly bytes: number
  /** The text in blocks of `size` bytes; only a longer piece is a block of its own. Each block takes the memory of the one before. */
  blocks(size: number): Iterable<Buffer>
}

function expositionOf(pieces: readonly Piece[]): Exposition {
  return {
    get bytes() {
      const lengthOf = (piece: Piece) =>
        Buffer.isBuffer(piece) ? piece.length : piece.reduce((sum, lines) => sum + bytesOf(lines), 0)
      return pieces.reduce((sum, piece) => sum + lengthOf(piece), 0)
    },

    *blocks(size) {
      const block = Buffer.allocUnsafeSlow(size)
      let used = 0
      for (const part of partsOf(pieces)) {
        const bytes = Buffer.byteLength(part)
        if (used + bytes > size) {
          yield block.subarray(0, used)
          used = 0
        }
        if (bytes > size) yield Buffer.from(part)
        else used += typeof part === 'string' ? block.write(part, used) : part.copy(block, used)
      }
      yield block.subarray(0, used)
    },
  }
}

function* partsOf(pieces: readonly Piece[]): Generator<Buffer | string> {
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) yield piece
    else for (const lines of piece) yield textOf(lines)
  }
}

export interface CollectDeps {
  readonly networks: readonly BoardNetwork[]
  readonly incidents: Pick<IncidentLog, 'open' | 'of'>
  /** Lines that do not come from the board. */
  readonly ownLines: Lines
  readonly processText: string
  readonly format: Format
  readonly sparse: boolean
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly yieldToLoop: () => Promise<unknown>
}

/** Endpoints rendered between two checks of the clock, in about 2 ms. */
const SLICE = 64
/** Rendering yields to the event loop after this long; where other work takes long, after a quarter of that time. */
const SHORTEST_HOLD_MS = 4
const LONGEST_HOLD_MS = 20

function* slices(networks: readonly BoardNetwork[]): Generator<readonly BoardEntry[]> {
  for (const { endpoints } of networks) {
    for (let from = 0; from < endpoints.length; from += SLICE) yield endpoints.slice(from, from + SLICE)
  }
}
