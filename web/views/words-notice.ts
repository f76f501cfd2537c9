/** What a page says in place of a view that cannot be shown, and the sign-in form. */
export const NOTICE_WORDS = {
  signInNeedsScript: 'Signing in needs JavaScript. The API also accepts the token, as Authorization: Bearer.',
  token: 'Token',
  wrongToken: 'Wrong token.',
  toOverview: 'Back to the overview',
  notices: {
    missing: { title: 'Not found', text: 'This page does not exist, or what it showed is no longer configured.' },
    locked: {
      title: 'Sign in to view this page',
      text: 'The token is the value of server.token. It is kept for this tab only and sent only to this Heartline.',
    },
    away: {
      title: 'Temporarily unavailable',
      text: 'This data cannot be read at the moment. The overview still works.',
    },
  },
}
