/** Labels around small charts and their tables. */
export const CHART_WORDS = {
  table: 'As a table',
  inGrafana: 'In Grafana',
  time: 'Time',
  state: 'State',
  unknown: 'no data',
  none: '–',
  max: 'max',
  flat: (text: string) => `${text} all the time`,
  span: (from: string, to: string) => `${from} to ${to}`,
  cells: (count: number, step: string) => `${count} steps of ${step}`,
}
