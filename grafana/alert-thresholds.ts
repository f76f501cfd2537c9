/**
 * The numbers that alert rules and dashboards share. Configurable thresholds are not among them: rules read those from
 * the metrics `heartline_network_threshold_…`, so that alerts and the page agree.
 */
export const THRESHOLDS = {
  /** Below this share of endpoints that are up, one more failure may be an outage. */
  networkUpShare: 0.5,
  /** Leaves time to renew a certificate after a holiday. */
  tlsDaysLeft: 14,
  /** Of requests that reached a node or should have. eRPC and Google's SRE workbook also use 5 %. */
  gatewayErrorShare: 0.05,
  /** Requests per second below which an error share is meaningless: three per minute. */
  gatewayLeastRate: 0.05,
  /** The scheduler runs every second, even if no poll is due. */
  schedulerSilentSeconds: 60,
  /** Room for the reserve, the WAL and a backup in addition to the store. */
  diskFreeBytes: 1e9,
  /** Heartline's own time per forwarded request; 0.1 ms is usual. */
  gatewayOverheadSeconds: 0.01,
  /** A delay of the event loop that makes polls late. */
  eventLoopSeconds: 0.5,
  /** More than the minute within which a channel is tried again, and than a short rate limit. */
  notificationWaitSeconds: 300,
} as const

/** The share of time in which at least one endpoint of a network is available, or fresh. */
export const OBJECTIVES = { availability: 0.999, freshness: 0.999 } as const

/**
 * Burn rates of the error budget over a long and a short window; the short one ends the alert soon after recovery.
 * From the SRE workbook, chapter 5: 2 % of a month's budget in one hour, 5 % in six.
 * `lookSeconds` is the sampling step: a single bad sample stays below the bound.
 */
export const BURN_RATES = {
  fast: { rate: 14.4, longSeconds: 3600, shortSeconds: 300, lookSeconds: 30 },
  slow: { rate: 6, longSeconds: 6 * 3600, shortSeconds: 1800, lookSeconds: 120 },
} as const
