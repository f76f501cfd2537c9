import type { ProblemView } from './wire-common.ts'

export type QueryErrors = NonNullable<ProblemView['errors']>

/** A reader of one parameter: its value, or what is wrong with it. */
export type ReadParameter<T> = (text: string) => { readonly value: T } | { readonly wrong: string }

export type Read<T> =
  | { readonly ok: true; readonly values: Partial<T> }
  | { readonly ok: false; readonly errors: QueryErrors }

/** Reads a query string by a table of its parameters; every bad one is named, unknown and repeated ones too: a typo must not pass for a default. */
export function readQuery<T extends object>(
  query: unknown,
  parameters: { readonly [name in keyof T]: ReadParameter<T[name]> },
): Read<T> {
  const values: Partial<T> = {}
  const errors: { parameter: string; detail: string }[] = []
  for (const [name, given] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    const parameter = name.length > 64 ? `${name.slice(0, 63)}…` : name
    const known = Object.hasOwn(parameters, name) ? parameters[name as keyof T] : undefined
    if (known === undefined) errors.push({ parameter, detail: 'is not a parameter of this route' })
    else if (typeof given !== 'string') errors.push({ parameter, detail: 'is given more than once' })
    else {
      const read = known(given)
      if ('value' in read) values[name as keyof T] = read.value
      else errors.push({ parameter, detail: read.wrong })
    }
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, values }
}

/** RFC 3339 with an offset, or Unix seconds. */
export const readTime: ReadParameter<number> = (given) => {
  // A `+` that nobody encoded arrives as a space.
  const text = given.replace(/ (\d{2}:\d{2})$/, '+$1')
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return { value: Math.round(Number(text) * 1000) }
  const date = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text.toUpperCase().replace(' ', 'T'))
    : Number.NaN
  return Number.isNaN(date) ? { wrong: 'must be an RFC 3339 time or Unix seconds' } : { value: date }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds, from a duration (`30s`, `5m`, `1h`, `1d`) or seconds. */
export const readDuration: ReadParameter<number> = (text) => {
  const [, count, unit] = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text) ?? []
  const ms = Number(count) * (UNIT_MS[unit ?? 's'] ?? Number.NaN)
  return ms >= 1000 ? { value: ms } : { wrong: 'must be a duration of a second or more, like 30s, 5m, 1h or 1d' }
}

export function readOneOf<T extends string>(...allowed: readonly T[]): ReadParameter<T> {
  return (text) =>
    (allowed as readonly string[]).includes(text) ? { value: text as T } : { wrong: `must be ${allowed.join(' or ')}` }
}

export const readName: ReadParameter<string> = (text) =>
  /^[a-z0-9-]{1,64}$/.test(text) ? { value: text } : { wrong: 'must be a name: 1 to 64 characters of a-z, 0-9 and -' }

export function readCount(from: number, to: number): ReadParameter<number> {
  return (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= from && Number(text) <= to
      ? { value: Number(text) }
      : { wrong: `must be a whole number from ${from} to ${to}` }
}
