import { authHeaders } from './session.ts'
import { WORDS } from './views/words.ts'

const TIMEOUT_MS = 15_000

/**
 * Sends a form to `data-path` by `data-method`, its fields as JSON. Shows in the form that it was done, or why not.
 * Loaded on first use.
 */
export async function write(form: HTMLFormElement): Promise<boolean> {
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
