/** The base address of the runbooks; `npm run grafana -- --runbooks URL` sets another one, such as your own wiki. */
const RUNBOOKS = 'https://heartline.example.org/docs/runbooks'

export function runbookUrl(alert: string, base: string = RUNBOOKS): string {
  return `${base.replace(/\/+$/, '')}/${alert}.md`
}
