/**
 * The numbers that alert rules and dashboards share. What can be configured is no number here: it is read from the metrics
 * `heartline_network_threshold_…`, so that a rule means what the page means.
 */
export const THRESHOLDS = {
  /** Fewer endpoints than this share that are up: one more failure may be an outage. */
  networkUpShare: 0.5,
  /** A certificate takes an afternoon to renew, and a fortnight holds a holiday. */
  tlsDaysLeft: 14,
  /** Of requests that reached a node or should have; eRPC and Google's SRE workbook page at the same 5 %. */
  gatewayErrorShare: 0.05,
  /** Requests a second below which a share of errors says nothing: three a minute. */
  gatewayLeastRate: 0.05,
  /** The scheduler looks every second, also when nothing is due. */
  schedulerSilentSeconds: 60,
  /** What the reserve, the WAL and a backup need beside the store. */
  diskFreeBytes: 1e9,
  /** Heartline's own time for a forwarded request: a tenth of a millisecond is usual. */
  gatewayOverheadSeconds: 0.01,
  /** A loop that is held this long makes polls late. */
  eventLoopSeconds: 0.5,
} as const

/** Of the time of each network: one endpoint at least is available, or fresh. */
export const OBJECTIVES = { availability: 0.999, freshness: 0.999 } as const

/**
 * How many times faster than the objective allows the budget may burn, over a long window, and still over a short one: the
 * second ends the alert soon after the trouble. From the SRE workbook, chapter 5: 2 % of a month's budget in an hour, 5 % in six.
 * Looked at so often that one bad look alone stays below it: it may have been a second.
 */
export const BURN_RATES = {
  fast: { rate: 14.4, longSeconds: 3600, shortSeconds: 300, lookSeconds: 30 },
  slow: { rate: 6, longSeconds: 6 * 3600, shortSeconds: 1800, lookSeconds: 120 },
} as const
