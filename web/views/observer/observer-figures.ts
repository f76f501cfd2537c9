import type { OwnHealthView } from '../../../src/http/wire/own-health.ts'
import { ticking } from '../endpoint-row.ts'
import { bytes, type Figure, figures, fine } from '../figures.ts'
import { count, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { OBSERVER_WORDS } from './words-observer.ts'

/** Current figures of the process, its polls and its history. */
export function observerFigures(data: OwnHealthView, zone: Zone, nowMs: number): TemplateResult {
  const { store, polls } = data
  const skips = Object.entries(polls.skips).filter(([, many]) => many > 0)
  const failures = store.write_failures.filter(({ count: many }) => many > 0)
  return html`
    <section class="card wide" aria-labelledby="process">
      <h2 id="process">${OBSERVER_WORDS.now}</h2>
      ${figures(ofProcess(data, zone, nowMs))}
    </section>
    <section class="card" aria-labelledby="polls">
      <h2 id="polls">${OBSERVER_WORDS.polls}</h2>
      ${figures(ofPolls(data, zone, nowMs))}
      ${
        skips.length === 0
          ? nothing
          : html`<p class="besides">
              <b>${OBSERVER_WORDS.skips}:</b> ${skips
                .map(
                  ([reason, many]) =>
                    `${count(many)} ${OBSERVER_WORDS.skipReasons[reason as keyof typeof OBSERVER_WORDS.skipReasons]}`,
                )
                .join('; ')}.
            </p>`
      }
    </section>
    <section class="card" aria-labelledby="store">
      <h2 id="store">${OBSERVER_WORDS.store}</h2>
      ${figures(ofStore(store))}
      ${
        failures.length + store.thread_restarts === 0
          ? nothing
          : html`<p class="besides">
              ${[
                ...(failures.length > 0
                  ? [
                      OBSERVER_WORDS.failures(
                        failures.map(({ reason, count: many }) => `${count(many)} × ${reason}`).join(', '),
                      ),
                    ]
                  : []),
                ...(store.thread_restarts > 0 ? [OBSERVER_WORDS.restarts(store.thread_restarts)] : []),
              ].join('; ')}.
            </p>`
      }
    </section>
  `
}

function ofProcess(data: OwnHealthView, zone: Zone, nowMs: number): Figure[] {
  const { configuration } = data
  const { loaded_at: loadedAt } = configuration
  return [
    { name: OBSERVER_WORDS.uptime, value: ticking(data.started_at, zone, nowMs) },
    { name: OBSERVER_WORDS.version, value: data.version, beside: OBSERVER_WORDS.node(data.node_version) },
    {
      name: OBSERVER_WORDS.monitored,
      value: OBSERVER_WORDS.endpoints(data.endpoints),
      beside: OBSERVER_WORDS.networks(data.networks),
    },
    configuration.ok
      ? {
          name: OBSERVER_WORDS.configuration,
          value: OBSERVER_WORDS.loaded,
          ...(loadedAt === null ? {} : { beside: html`${ticking(loadedAt, zone, nowMs)} ${OBSERVER_WORDS.ago}` }),
        }
      : {
          name: OBSERVER_WORDS.configuration,
          value: OBSERVER_WORDS.rejected,
          beside: OBSERVER_WORDS.rejectedMeaning,
          tone: 'degraded',
        },
    { name: OBSERVER_WORDS.memory, value: bytes(data.resident_bytes) },
  ]
}

function ofPolls({ polls, clock_jumps: jumps }: OwnHealthView, zone: Zone, nowMs: number): Figure[] {
  const { last_round_at: lastRoundAt, lag, skips } = polls
  const skipped = Object.values(skips).reduce((sum, many) => sum + many, 0)
  const jumped = jumps.forward + jumps.backward
  return [
    {
      name: OBSERVER_WORDS.lastRound,
      value: lastRoundAt === null ? '–' : html`${ticking(lastRoundAt, zone, nowMs)}`,
      ...(lastRoundAt === null ? {} : { beside: OBSERVER_WORDS.ago }),
    },
    { name: OBSERVER_WORDS.lag, value: fine(lag.p50_seconds), beside: OBSERVER_WORDS.p99(fine(lag.p99_seconds)) },
    // Nodes ask for fewer polls: that is no fault of Heartline's.
    { name: OBSERVER_WORDS.skips, value: count(skipped), tone: skipped > skips.rate_limited ? 'degraded' : undefined },
    {
      name: OBSERVER_WORDS.jumps,
      value: jumped === 0 ? '0' : OBSERVER_WORDS.jumped(jumps.forward, jumps.backward),
      tone: jumped > 0 ? 'degraded' : undefined,
    },
  ]
}

function ofStore(store: OwnHealthView['store']): Figure[] {
  const { database_bytes: size, filesystem_free_bytes: free } = store
  return [
    {
      name: OBSERVER_WORDS.problem,
      value: store.trouble ?? (store.integrity_ok ? OBSERVER_WORDS.none : OBSERVER_WORDS.damaged),
      tone: store.trouble !== null || !store.integrity_ok ? 'down' : undefined,
    },
    {
      name: OBSERVER_WORDS.written,
      value: count(store.rows_written),
      beside: OBSERVER_WORDS.queued(store.queue_rows),
    },
    {
      name: OBSERVER_WORDS.dropped,
      value: count(store.rows_dropped),
      tone: store.rows_dropped > 0 ? 'down' : undefined,
    },
    {
      name: OBSERVER_WORDS.commit,
      value: fine(store.commit.p50_seconds),
      beside: OBSERVER_WORDS.p99(fine(store.commit.p99_seconds)),
    },
    {
      name: OBSERVER_WORDS.size,
      value: size === null ? OBSERVER_WORDS.inMemory : bytes(size),
      ...(free === null ? {} : { beside: OBSERVER_WORDS.free(bytes(free)) }),
    },
  ]
}
