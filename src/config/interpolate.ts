import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { formatPath, type Path, type Problem } from './problem.ts'

export type Environment = Readonly<Record<string, string | undefined>>

interface From {
  readonly baseDir: string
  readonly env: Environment
}

/**
 * Replaces `${NAME}` and `${file:PATH}` in strings, after YAML is parsed, so that no value can become structure. `$${`
 * is a literal `${`. Cycles and `__proto__`, which YAML allows, are reported as problems.
 */
export function interpolate(
  value: unknown,
  from: From,
): { readonly value: unknown; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const complain = (path: Path, message: string) => {
    problems.push({ path: formatPath(path), message })
  }

  const visit = (node: unknown, path: Path, above: readonly object[]): unknown => {
    if (typeof node === 'string') return fill(node, path)
    if (typeof node !== 'object' || node === null) return node
    if (above.includes(node)) {
      complain(path, 'an alias that refers to itself')
      return undefined
    }
    const within = [...above, node]
    if (Array.isArray(node)) return node.map((item, at) => visit(item, [...path, at], within))
    const copy: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(node)) {
      if (key === '__proto__') complain(path, 'unknown key __proto__')
      else copy[key] = visit(item, [...path, key], within)
    }
    return copy
  }

  const fill = (text: string, path: Path): string =>
    text.replace(REFERENCE, (whole, escaped: string | undefined, reference: string | undefined) => {
      if (escaped !== undefined) return '${'
      const found = lookUp(reference ?? '', from)
      if (found.ok) return found.text
      complain(path, found.message)
      return whole
    })

  return { value: visit(value, [], []), problems }
}

/** Matches `$${`, `${…}`, or an unclosed `${`. */
const REFERENCE = /(\$\$\{)|\$\{([^}]*)(?:\}|$)/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const FILE_LIMIT_BYTES = 64 * 1024

function lookUp(
  reference: string,
  { baseDir, env }: From,
): { ok: true; text: string } | { ok: false; message: string } {
  if (reference.startsWith('file:')) return readSecretFile(resolve(baseDir, reference.slice('file:'.length)))
  // The text in the braces is shown only if it is a valid name, because `${` may be part of a password.
  if (!NAME.test(reference)) {
    return { ok: false, message: 'expected ${NAME} or ${file:PATH} here; $${ is a literal ${' }
  }
  const text = Object.hasOwn(env, reference) ? env[reference] : undefined
  if (text === undefined) return { ok: false, message: `the environment variable ${reference} is not set` }
  return { ok: true, text }
}

function readSecretFile(path: string): { ok: true; text: string } | { ok: false; message: string } {
  try {
    const stat = statSync(path)
    // Reading a pipe would block; a device may never end.
    if (!stat.isFile()) return { ok: false, message: '${file:…} is not a regular file' }
    if (stat.size > FILE_LIMIT_BYTES) return { ok: false, message: 'the file of ${file:…} is larger than 64 KiB' }
    return { ok: true, text: readFileSync(path, 'utf8').replace(/^\uFEFF|\r?\n$/g, '') }
  } catch {
    return { ok: false, message: 'the file of ${file:…} cannot be read' }
  }
}
