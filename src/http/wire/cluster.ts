import * as z from 'zod'
import { Count, Seconds, shape, Time } from './common.ts'

const MemberView = shape('ClusterMember', {
  id: z.string(),
  vantage: z.string(),
  version: z.string(),
  /** Of its page, if configured. */
  url: z.string().nullable(),
  /** When the database last heard of it. */
  seen_at: Time,
  /** Whether it is the one that answers. */
  self: z.boolean(),
})

const LeaseView = shape('ClusterLease', {
  vantage: z.string(),
  network: z.string(),
  /** Null while no member polls the network for that place. */
  member: z.string().nullable(),
  token: Count,
  expires_at: Time,
})

const DatabaseView = shape('ClusterStore', {
  reachable: z.boolean(),
  /** Since when it is, or is not. */
  since: Time,
  /** Rows that wait until it is back. */
  spool_rows: Count,
})

/** The daemons that share a database. A daemon alone is one member without leases. */
export const ClusterView = shape('Cluster', {
  members: z.array(MemberView),
  /** The right of one member to poll a network for a place. */
  leases: z.array(LeaseView),
  store: DatabaseView,
})
export type ClusterView = z.infer<typeof ClusterView>

/** The same, with what operators need to know beyond it. */
export const ClusterDetailsView = shape('ClusterDetails', {
  vantage: z.string(),
  members: z.array(
    MemberView.extend({
      /** Heard within one lease; null if it was, and the database is away. Others are listed for 24 hours. */
      live: z.boolean().nullable(),
      /** Whether its networks, endpoints or checks are others than ours. */
      differs: z.boolean(),
    }),
  ),
  leases: z.array(LeaseView),
  /** Which member keeps the incidents of each network. */
  keepers: z.array(LeaseView.omit({ vantage: true })),
  store: DatabaseView.extend({
    /** Duration of the latest round trip; null while it cannot be reached. */
    lag_seconds: Seconds.nullable(),
    rows_refused: Count,
  }),
})
export type ClusterDetailsView = z.infer<typeof ClusterDetailsView>

/** What every page says about the cluster. */
export const ClusterNoticeView = shape('ClusterNotice', {
  /** The place of the member that answers. */
  vantage: z.string(),
  /** Since when only what this member sees is shown, because the database cannot be reached; null while it can. */
  own_view_since: Time.nullable(),
  /** Whether a live member has other networks. Always false without the token. */
  networks_differ: z.boolean(),
})
export type ClusterNoticeView = z.infer<typeof ClusterNoticeView>
