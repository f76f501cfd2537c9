import { InvalidArgumentError } from 'commander'
import { LONGEST_SILENCE_MS } from '../core/incident/silence.ts'
import { parseDuration } from '../core/time.ts'

/** Collects the values of a repeatable option. */
export function collect(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value]
}

export function flag(value: string): boolean {
  if (value === 'true') return true
  if (value === 'false') return false
  throw new InvalidArgumentError('expected true or false')
}

export function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('expected a duration such as 500ms, 15s, 2m')
  return ms
}

export function silenceDuration(text: string): number {
  const ms = parseDuration(text) ?? 0
  if (ms < 1000 || ms > LONGEST_SILENCE_MS) throw new InvalidArgumentError('expected a duration from 1s to 30d')
  return ms
}

export function whole(least: number, most: number): (value: string) => number {
  return (value) => {
    // An empty value is that of a variable that is not set, and no 0.
    const number = value.trim() === '' ? Number.NaN : Number(value)
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`)
    }
    return number
  }
}
