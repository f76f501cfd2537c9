/** Where the runbooks can be read; `npm run grafana -- --runbooks URL` writes another place, such as your own wiki. */
const RUNBOOKS = 'https://heartline.example.org/docs/runbooks'

export function runbookUrl(alert: string, base: string = RUNBOOKS): string {
  return `${base.replace(/\/+$/, '')}/${alert}.md`
}
