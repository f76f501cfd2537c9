import { html } from './lit.ts'
import { defineView } from './view.ts'

/** The sign-in form: what it asks for is always locked. `web/app.ts` leads back to the address in `to`. */
export const view = defineView<null>({
  title: ({ brand }) => `Sign in · ${brand.title}`,
  load: async () => ({ ok: false, why: 'locked' }),
  draw: () => html``,
  refreshMs: null,
  hasStyle: false,
})
