import { html, type TemplateResult } from './lit.ts'
import type { View } from './view.ts'
import { WORDS } from './words.ts'
import { NOTICE_WORDS } from './words-notice.ts'

/** Replaces a view that cannot be shown: says why, with the sign-in form if a token is needed. */
export function noticeView(why: 'missing' | 'locked' | 'away'): View {
  return {
    title: () => NOTICE_WORDS.notices[why].title,
    load: async () => ({ ok: true, value: null }),
    draw: () => draw(why),
    refreshMs: null,
    hasStyle: false,
  }
}

function draw(why: 'missing' | 'locked' | 'away'): TemplateResult {
  const { title, text } = NOTICE_WORDS.notices[why]
  return html`
    <section class="notice">
      <h1>${title}</h1>
      <p>${text}</p>
      ${why === 'locked' ? signIn() : html`<p><a href="/">${NOTICE_WORDS.toOverview}</a></p>`}
    </section>
  `
}

function signIn(): TemplateResult {
  return html`
    <form data-act="token">
      <label for="token">${NOTICE_WORDS.token}</label>
      <input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required />
      <button type="submit">${WORDS.signIn}</button>
      <p role="alert" id="refusal"></p>
    </form>
    <noscript><p>${NOTICE_WORDS.signInNeedsScript}</p></noscript>
  `
}
