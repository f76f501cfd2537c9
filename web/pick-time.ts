import type { Zone } from './views/format.ts'

/** The address of the time range in a form's fields; `null`, and a hint at the field, if it ends before it begins. */
export function pickTime(form: HTMLFormElement, zone: Zone): URL | null {
  const fields = new FormData(form)
  const seconds = (name: string) => Date.parse(`${String(fields.get(name))}${zone === 'utc' ? 'Z' : ''}`) / 1000
  const [from, to] = [seconds('from'), seconds('to')]
  const end = form.querySelector<HTMLInputElement>('[name=to]')
  end?.setCustomValidity(to > from ? '' : 'The range ends before it begins.')
  const isValid = form.reportValidity()
  // A field that stays invalid would block the next attempt.
  end?.setCustomValidity('')
  if (!isValid) return null
  const url = new URL(location.pathname, location.href)
  url.search = new URLSearchParams({ from: String(from), to: String(to) }).toString()
  return url
}
