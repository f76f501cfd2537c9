/** Words about incidents and maintenance, which most visits to the overview do not need. */
export const EVENT_WORDS = {
  incidents: 'Open incidents',
  maintenance: 'Planned maintenance',
  closed: 'closed',
  until: (age: string) => `${age} left`,
  ahead: (age: string) => `in ${age}`,
  endpointsOf: (many: number, of: number) => `${many} of ${of} endpoints`,
  incidentsOf: (count: number) => `${count} ${count === 1 ? 'incident' : 'incidents'}`,
  more: (count: number) => `and ${count} more`,
}
