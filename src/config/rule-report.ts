import { Secret } from '../secret.ts'
import { formatPath, type Path } from './problem.ts'

/** Takes what the rules across keys find. */
export interface Report {
  complain(path: Path, message: string): void
  warn(path: Path, message: string): void
  /** True if a key was given but is invalid, so that it is not also reported as missing. */
  isWrong(path: Path): boolean
}

/** Reports each item whose value of `key` is already used, with the path of the first use. */
export function uniqueBy<K extends string>(
  key: K,
  items: readonly ({ readonly [Key in K]?: unknown } | undefined)[],
  path: Path,
  report: Report,
): void {
  const values = items.map((item) => {
    const value = item?.[key]
    return value instanceof Secret ? value.reveal() : value
  })
  unique(values, (at) => [...path, at, key], report)
}

export function unique(values: readonly unknown[], pathOf: (at: number) => Path, { complain }: Report): void {
  values.forEach((value, at) => {
    const first = value === undefined ? at : values.indexOf(value)
    if (first !== at) complain(pathOf(at), `the same as ${formatPath(pathOf(first))}`)
  })
}
