import type { DaysView } from '../src/http/wire/history.ts'
import { instant, type Moment, since } from './elapsed.ts'
import { authHeaders, token } from './session.ts'
import type { Answer, Sources } from './views/view.ts'

const TIMEOUT_MS = 10_000

const days = kept<DaysView>('/api/v1/days', 295_000)

/** What the overview loads; `api.ts` has the rest, for the other views. */
export const overviewApi: Pick<Sources, 'strips' | 'days' | 'publicDays'> = {
  strips: kept('/api/v1/strips', 55_000),
  days,
  publicDays: () => (isPublic() ? days() : Promise.resolve({ ok: true, value: null })),
}

/**
 * Loads again only after this time, and never twice at once: the daemon reads its history no more often, but some views
 * load every 3 s.
 */
function kept<T>(path: string, lastsMs: number): () => Promise<Answer<T>> {
  let known: { readonly answer: Promise<Answer<T>>; readonly token: string | null; readonly at: Moment } | null = null
  return () => {
    const mine = token()
    if (known !== null && known.token === mine && since(known.at) < lastsMs) return known.answer
    const answer = get<T>(path)
    const asked = { answer, token: mine, at: instant() }
    known = asked
    void answer.then(({ ok }) => {
      if (!ok && known === asked) known = null
    })
    return answer
  }
}

export function isPublic(): boolean {
  return document.getElementById('page')?.dataset.access === 'public' && token() === null
}

/** What asks for a thing that cannot be is not found, as the daemon's own pages say. */
const WHY: Readonly<Record<number, 'missing' | 'locked'>> = { 400: 'missing', 401: 'locked', 404: 'missing' }

export async function get<T>(
  path: string,
  query: object = {},
  read: (answer: Response) => Promise<unknown> = (answer) => answer.json(),
): Promise<Answer<T>> {
  const given = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  try {
    const answer = await fetch(given.size === 0 ? path : `${path}?${given}`, {
      headers: authHeaders(),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (answer.ok) return { ok: true, value: (await read(answer)) as T }
    return { ok: false, why: WHY[answer.status] ?? 'away' }
  } catch {
    return { ok: false, why: 'away' }
  }
}
