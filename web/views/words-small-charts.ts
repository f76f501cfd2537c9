/** What is written around every chart. */
export const COURSE_WORDS = {
  table: 'As a table',
  time: 'Time',
  state: 'State',
  unknown: 'not known',
  none: '–',
  now: 'now',
  limit: (text: string) => `limit ${text}`,
  most: 'most',
  span: (from: string, to: string) => `${from} to ${to}`,
  cells: (count: number, step: string) => `${count} steps of ${step}`,
}
