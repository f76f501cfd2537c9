/** What stands in the place of a view, and the form to sign in. */
export const NOTICE_WORDS = {
  signInNeedsScript: 'Signing in takes JavaScript. The API takes the token too, as Authorization: Bearer.',
  token: 'Token',
  refused: 'That is not the token.',
  unheard: 'Heartline does not answer.',
  toOverview: 'To the overview',
  notices: {
    missing: { title: 'There is nothing here', text: 'What was asked for is not configured, or not any more.' },
    locked: { title: 'This takes the token', text: 'It is kept for this tab, and sent to nobody else.' },
    away: { title: 'Not just now', text: 'This cannot be read at the moment. The overview still can.' },
  },
}
