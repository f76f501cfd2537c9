/** Words about incidents and maintenance, which most visits to the overview do not need. */
export const EVENT_WORDS = {
  incidents: 'Open incidents',
  maintenance: 'Maintenance',
  closed: 'closed',
  left: 'left',
  until: 'until',
  ahead: 'in',
  to: 'to',
  endpointsOf: (many: number, of: number) => `${many} of ${of} endpoints`,
  incidentsOf: (count: number) => `${count} ${count === 1 ? 'incident' : 'incidents'}`,
  all: (count: number) => `all ${count}`,
  more: (count: number) => `and ${count} more`,
}
