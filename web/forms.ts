import { api } from './api.ts'
import { authHeaders, storeToken } from './session.ts'
import type { Zone } from './views/format.ts'
import { routeOf } from './views/route.ts'
import { problemOf, spanOf } from './views/time-range.ts'
import { WORDS } from './views/words.ts'
import { NOTICE_WORDS } from './views/words-notice.ts'

export interface FormOptions {
  readonly zone: Zone
  /** By the daemon's clock. */
  readonly nowMs: () => number
  readonly goTo: (path: string) => void
  readonly signedIn: () => Promise<void>
  /** Shows what a form has changed. */
  readonly written: () => Promise<void>
}

/** Does what the form is for, by its `data-act`. */
export async function submit(
  form: HTMLFormElement,
  { zone, nowMs, goTo, signedIn, written }: FormOptions,
): Promise<void> {
  const { act } = form.dataset
  if (act === 'token' && (await signIn(form))) {
    if (location.pathname === '/sign-in') history.replaceState(null, '', cameFrom())
    await signedIn()
  } else if (act === 'write') {
    const heading = form.closest('section')?.querySelector('h2')
    if (!(await write(form))) return
    await written()
    // Its button is gone with what it ended.
    if (!form.isConnected) heading?.focus()
  } else if (act === 'pick-time') {
    const to = pickTime(form, zone, nowMs())
    if (to !== null) goTo(to.href)
  }
}

/** The address in `to`, if it is a view of this page. */
function cameFrom(): string {
  const given = new URLSearchParams(location.search).get('to') ?? '/'
  if (!URL.canParse(given, location.origin)) return '/'
  const to = new URL(given, location.origin)
  if (to.origin !== location.origin || routeOf(to.pathname) === null) return '/'
  return to.pathname + to.search
}

/** Tries the entered token on a private route, and shows an error in the form if that fails. */
async function signIn(form: HTMLFormElement): Promise<boolean> {
  const given = new FormData(form).get('token')
  storeToken(typeof given === 'string' ? given.trim() : null)
  const answer = await api.gateway()
  if (answer.ok) return true
  storeToken(null)
  const refusal = form.querySelector('#refusal')
  if (refusal !== null) refusal.textContent = answer.why === 'locked' ? NOTICE_WORDS.wrongToken : WORDS.noResponse
  return false
}

const TIMEOUT_MS = 15_000

/**
 * Sends a form to `data-path` by `data-method`, its fields as JSON. Shows in the form that it was done, or why not.
 */
async function write(form: HTMLFormElement): Promise<boolean> {
  const { method = 'POST', path = '', done = '' } = form.dataset
  const button = form.querySelector('button')
  if (button?.disabled === true) return false
  if (button !== null) button.disabled = true
  const failure = await send(path, method, fieldsOf(form))
  if (button !== null) button.disabled = false
  show(form, '[role=alert]', failure ?? '')
  show(form, '[role=status]', failure === null ? done : '')
  if (failure === null) form.reset()
  return failure === null
}

/** By name: whether it is checked, or its text; a field with `data-kind="json"` has an object of fields as its value. */
function fieldsOf(form: HTMLFormElement): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  for (const field of form.querySelectorAll<HTMLInputElement>('[name]')) {
    if (field.type === 'checkbox') fields[field.name] = field.checked
    else if (field.dataset.kind === 'json') Object.assign(fields, JSON.parse(field.value))
    else fields[field.name] = field.value
  }
  return fields
}

/** Returns why it failed, or `null`. */
async function send(path: string, method: string, fields: Readonly<Record<string, unknown>>): Promise<string | null> {
  const hasBody = method === 'POST'
  try {
    const answer = await fetch(path, {
      method,
      headers: authHeaders(hasBody ? { 'content-type': 'application/json' } : {}),
      body: hasBody ? JSON.stringify(fields) : null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (answer.ok) return null
    const { detail } = (await answer.json()) as { detail?: string }
    return detail ?? WORDS.noResponse
  } catch {
    return WORDS.noResponse
  }
}

function show(form: HTMLFormElement, place: string, text: string): void {
  const element = form.querySelector(place)
  if (element !== null) element.textContent = text
}

/** The address of the time range in a form's fields; `null`, and a hint at the field, if it cannot be shown. */
function pickTime(form: HTMLFormElement, zone: Zone, nowMs: number): URL | null {
  const field = (name: string) => form.querySelector<HTMLInputElement>(`[name=${name}]`)
  const seconds = (name: string) => Date.parse(`${field(name)?.value}${zone === 'utc' ? 'Z' : ''}`) / 1000
  const [from, to] = [seconds('from'), seconds('to')]
  const end = field('to')
  const span = spanOf({ query: { from: String(from), to: String(to) } }, nowMs)
  // What cannot be shown falls back to a named range.
  end?.setCustomValidity(span.range === null ? '' : problemOf(from, to, nowMs))
  const isValid = form.reportValidity()
  // A field that stays invalid would block the next attempt.
  end?.setCustomValidity('')
  if (!isValid) return null
  const url = new URL(location.href)
  // Other filters stay.
  for (const name of ['range', 'cursor']) url.searchParams.delete(name)
  url.searchParams.set('from', String(from))
  url.searchParams.set('to', String(to))
  return url
}
