import type { IncidentConditionView, IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import type { NetworkView } from '../../src/http/wire/status.ts'
import { duration } from './format.ts'
import { atHead } from './model.ts'

/**
 * `is down: connection refused`, `is flapping, up now; down at worst: connection refused`, `was down: …`. A message is
 * only told with the state that it caused.
 */
export function incidentSentence(incident: IncidentSummaryView): string {
  const { cause, state, flapping, conditions, closed_at: closedAt } = incident
  const holding = conditions.filter(({ until }) => until === null)
  const worst = conditions.findLast((condition) => condition.state === state) ?? conditions.at(-1)
  const verb = closedAt === null ? 'is' : 'was'
  if (cause === 'outage') return outageSentence(incident, holding[0] ?? worst)
  if (cause !== 'endpoint') return `${verb} ${cause}${because(holding[0] ?? worst)}`
  if (closedAt !== null) return `was ${flapping ? `flapping, ${state} at worst` : state}${because(worst)}`
  const now = holding.find((condition) => condition.state === state) ?? holding.find((one) => one.state !== 'up')
  if (now !== undefined) return `is ${flapping ? `flapping, ${now.state} now` : now.state}${because(now)}`
  if (conditions.length === 0) return `is ${state}`
  return `is ${flapping ? 'flapping, ' : ''}up now; ${state} at worst${because(worst)}`
}

/** `has 12 endpoints of alchemy that are down: …`. A host is not named, because it is part of a secret URL. */
function outageSentence(incident: IncidentSummaryView, main: IncidentConditionView | undefined): string {
  const { affected, provider, state, flapping, closed_at: closedAt } = incident
  const [has, are] = closedAt === null ? ['has', 'are'] : ['had', 'were']
  const shared = provider === null ? 'on one host' : `of ${provider}`
  const how = flapping ? `flapping, ${state} at worst` : state
  return `${has} ${affected.length} endpoints ${shared} that ${are} ${how}${because(main)}`
}

function because(condition: IncidentConditionView | undefined): string {
  return condition === undefined ? '' : `: ${condition.message}`
}

/** How long an incident lasted, without planned maintenance, and how much of that in which bad state, if not all of it: `47 min, of which down 10 min, 77 times`. */
export function incidentTime(incident: IncidentSummaryView, nowMs: number): string {
  const { closed_at: closedAt } = incident
  const toMs = closedAt === null ? nowMs : Date.parse(closedAt)
  const wholeMs = Math.max(0, toMs - Date.parse(countedFrom(incident)))
  const whole = duration(Math.round(wholeMs / 1000))
  const parts = badTimes(incident, toMs)
  const [only] = parts
  if (incident.cause !== 'endpoint' || only === undefined) return whole
  if (parts.length === 1 && only.times === 1 && wholeMs - only.ms < Math.max(2000, wholeMs / 20)) return whole
  const texts = parts.map(({ state, ms, times }) => {
    const often = times === 1 ? '' : `, ${times} times`
    return `${state} ${duration(Math.round(ms / 1000))}${often}`
  })
  return `${whole}, of which ${texts.join('; ')}`
}

/** Since when its time counts: not from planned maintenance that it outlasts. */
export function countedFrom({ opened_at: openedAt, planned_until: planned }: IncidentSummaryView): string {
  return planned ?? openedAt
}

interface BadTime {
  readonly state: 'down' | 'degraded'
  readonly ms: number
  readonly times: number
}

/** Without planned maintenance. Conditions overlap; time in which one says down is not degraded time as well. */
function badTimes({ conditions, planned_until: planned }: IncidentSummaryView, toMs: number): readonly BadTime[] {
  const fromMs = planned === null ? 0 : Date.parse(planned)
  const of = (isIn: (state: string) => boolean) =>
    merged(
      conditions
        .filter(({ state }) => isIn(state))
        .map(({ since, until }) => [
          Math.max(fromMs, Date.parse(since)),
          Math.max(fromMs, until === null ? toMs : Date.parse(until)),
        ]),
    )
  const down = of((state) => state === 'down')
  const bad = of((state) => state === 'down' || state === 'degraded')
  const degraded = of((state) => state === 'degraded')
  const downMs = sum(down)
  return [
    { state: 'down' as const, ms: downMs, times: down.length },
    { state: 'degraded' as const, ms: sum(bad) - downMs, times: degraded.length },
  ].filter(({ ms }) => ms > 0)
}

type Stretch = readonly [fromMs: number, toMs: number]

function merged(stretches: readonly (readonly number[])[]): readonly Stretch[] {
  const joined: Stretch[] = []
  for (const [from = 0, to = 0] of stretches.toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0))) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], to)]
    else joined.push([from, to])
  }
  return joined
}

function sum(stretches: readonly Stretch[]): number {
  return stretches.reduce((total, [from, to]) => total + Math.max(0, to - from), 0)
}

/** Whether the node or the chain is at fault, judged by the other endpoints; empty for an incident of the whole network. */
export function whoseFault({ cause, endpoint, conditions }: IncidentSummaryView, of: NetworkView | undefined): string {
  if (cause !== 'endpoint' || of === undefined || of.halted || of.forked) return ''
  if (conditions.some(({ code, until }) => code === 'partial' && until === null)) return 'Other places reach it.'
  const others = of.endpoints.filter(({ name }) => name !== endpoint)
  if (others.length === 0) return 'There is no other endpoint to compare with.'
  const healthy = atHead(others)
  if (healthy === 0) return 'No other endpoint is at head either.'
  if (healthy < others.length)
    return `Not the chain: ${healthy} of the other ${others.length} ${healthy === 1 ? 'is' : 'are'} at head.`
  return `Not the chain: the other ${healthy === 1 ? 'one is' : `${healthy} are`} at head.`
}
