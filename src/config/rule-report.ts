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

interface Named {
  readonly name?: string | undefined
}

/** Reports networks that do not exist, and endpoints that no network meant has; without `networks`, all are meant. */
export function unknownNames(
  {
    networks: named,
    endpoints,
  }: {
    readonly networks?: readonly (string | undefined)[] | undefined
    readonly endpoints?: readonly (string | undefined)[] | undefined
  },
  networks: readonly ((Named & { readonly endpoints?: readonly (Named | undefined)[] | undefined }) | undefined)[],
  path: Path,
  { complain }: Report,
): void {
  named?.forEach((name, at) => {
    if (name !== undefined && !networks.some((network) => network?.name === name)) {
      complain([...path, 'networks', at], 'no network has this name')
    }
  })
  const meant = networks.filter(
    (network) => network !== undefined && (named === undefined || named.includes(network.name)),
  )
  endpoints?.forEach((name, at) => {
    if (name === undefined) return
    if (!meant.some((network) => network?.endpoints?.some((endpoint) => endpoint?.name === name))) {
      complain([...path, 'endpoints', at], 'no endpoint of these networks has this name')
    }
  })
}
