import type { Liveness } from '../core/poll-result.ts'
import type { Redact } from './redact.ts'

/** What a node says of its own checks, without what it repeats of our secrets: it is shown to people. */
export function withoutSecrets(liveness: Liveness, redact: () => Redact): Liveness {
  // Nearly always, and then nothing is made anew.
  if (liveness.checks.every(({ error }) => error === null)) return liveness
  const clean = redact()
  const checks = liveness.checks.map((check) =>
    check.error === null ? check : { ...check, error: clean(wholeWords(check.error)) },
  )
  return { ...liveness, checks }
}

/** Longer ones were cut when they were read. */
const LONGEST = 256

/** The cut may go through a key, and half of one is not found. */
function wholeWords(text: string): string {
  return text.length < LONGEST ? text : `${text.slice(0, text.lastIndexOf(' ') + 1)}…`
}
