import type { IncidentRecord, Store } from '../store/store.ts'

/** Of those that are closed: so many tell who was flapping. */
const MOST_CLOSED = 1000
const PAGE = 1000

/** What an earlier run has left: every incident that is open, however many, and those that were closed lately. */
export async function earlierIncidents(store: Pick<Store, 'incidents'>): Promise<readonly IncidentRecord[]> {
  const all: IncidentRecord[] = []
  let last: IncidentRecord | undefined
  do {
    const page = await store.incidents({
      open: true,
      limit: PAGE,
      ...(last === undefined ? {} : { after: { openedAt: last.openedAt, id: last.id } }),
    })
    all.push(...page)
    last = page.at(-1)
    // Fewer than asked for need not be the last ones: what cannot be read is left out.
  } while (last !== undefined)
  return [...all, ...(await store.incidents({ open: false, limit: MOST_CLOSED }))]
}
