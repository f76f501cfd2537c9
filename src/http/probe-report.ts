import { describeFailure } from '../core/failure.ts'
import { checkOutcome } from '../core/poll-result.ts'
import type { Inspection, PollStep } from '../core/verdict/inspection.ts'
import type { BoardEntry } from '../state/board.ts'
import { time } from './rfc3339.ts'

/** What `/probe?debug=true` answers: every step of the poll, what it found, and the metrics that would have been the answer. */
export function probeReport(
  { key, health: known }: BoardEntry,
  { result, health, steps, startedAt, tookMs, waitedMs }: Inspection,
  withinMs: number,
  metrics: string,
): string {
  const { endpoint } = health
  const checks = endpoint.checks.map((check) => {
    const outcome = checkOutcome(result, check)
    if (outcome === null) return `${check}: not asked`
    const found = outcome.ok ? 'ok' : `failed, ${outcome.failure.kind}: ${describeFailure(outcome.failure)}`
    return `${check}: ${found} (${milliseconds(outcome.durationMs)})`
  })
  const heads = health.heads.map(
    ({ shard, height, hash, timestamp, lagBlocks }) =>
      `${shard === null ? 'head' : `head of shard ${shard}`}: height ${height}, hash ${printable(hash)}, made ${time(timestamp)}, ${lagBlocks ?? 0} behind`,
  )
  const conditions = health.conditions.map(({ code, message }) => `${code}: ${printable(message)}`)
  return [
    `Probe of ${key}, begun ${time(startedAt)}, within ${milliseconds(withinMs)}`,
    '',
    'Steps',
    `  ${milliseconds(0)}  waited ${milliseconds(waitedMs)} for its turn`,
    ...steps.flatMap(stepLines),
    `  ${milliseconds(tookMs - waitedMs)}  done`,
    '',
    'Found by this poll alone',
    ...[...checks, ...heads, ...conditions].map((line) => `  ${line}`),
    `  state: ${health.verdict ?? 'unknown'} (the schedule's polls say: ${known.verdict ?? 'unknown'})`,
    '',
    'Metrics of this probe',
    metrics,
  ].join('\n')
}

function stepLines({ afterMs, tookMs, waitedMs, method, path, body, answer }: PollStep): string[] {
  const waited = waitedMs > 0 ? `, of which ${milliseconds(waitedMs)} for a connection` : ''
  return [
    `  ${milliseconds(afterMs)}  ${method} <url>${printable(path)}${body === null ? '' : ` ${printable(body)}`}`,
    answer.ok
      ? `  ${milliseconds(afterMs + tookMs)}  HTTP ${answer.status}, ${answer.bytes} bytes in ${milliseconds(tookMs)}${waited}: ${printable(answer.text)}`
      : `  ${milliseconds(afterMs + tookMs)}  ${answer.failure.kind}: ${describeFailure(answer.failure)}${waited}`,
  ]
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`
}

/** One line, whatever a node sends. */
function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '�')
}
