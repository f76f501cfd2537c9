/** What the columns of the overview mean. */
export const COLUMNS = {
  height: 'The newest block of the endpoint.',
  lag: 'Blocks behind the head that the endpoints of the network agree on.',
  beat: 'Age of the last message from the network that the node handled.',
  failures: 'Failures in a row of a liveness check.',
  latency: '95 of 100 polls of the last hour were answered within this time.',
  day: 'The height of a bad state is its share of the time; hatched: no data. Below it, if shown: lag.',
  available: 'Share of the known time in which the endpoint was up or degraded.',
} as const
