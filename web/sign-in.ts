import { api } from './api.ts'
import { storeToken } from './session.ts'
import { WORDS } from './views/words.ts'
import { NOTICE_WORDS } from './views/words-notice.ts'

/** Tries the entered token on a private route, and shows an error in the form if that fails. */
export async function signIn(form: HTMLFormElement): Promise<boolean> {
  const given = new FormData(form).get('token')
  storeToken(typeof given === 'string' ? given.trim() : null)
  const answer = await api.gateway()
  if (answer.ok) return true
  storeToken(null)
  const refusal = form.querySelector('#refusal')
  if (refusal !== null) refusal.textContent = answer.why === 'locked' ? NOTICE_WORDS.wrongToken : WORDS.noResponse
  return false
}
