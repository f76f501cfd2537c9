import * as z from 'zod'
import { INCIDENT_CAUSES, INCIDENT_SCOPES } from '../../core/incident/incident.ts'
import { CONDITION_CODES, VERDICTS } from '../../core/verdict/condition.ts'
import { Count, Seconds, Shard, shape, Time } from './common.ts'
import { IncidentNotificationView } from './notifications.ts'
import { SilenceView } from './silences.ts'

/** One reason of an incident, and when it applied. */
export const IncidentConditionView = shape('IncidentCondition', {
  code: z.enum([...CONDITION_CODES, 'halted']),
  /** The state that it caused. */
  state: z.enum(VERDICTS),
  message: z.string(),
  since: Time,
  /** Null while it lasts. */
  until: Time.nullable(),
})
export type IncidentConditionView = z.infer<typeof IncidentConditionView>

const IncidentSampleView = shape('IncidentSample', {
  endpoint: z.string(),
  shard: Shard,
  height: Count.nullable(),
  lag_blocks: Count.nullable(),
  latency_seconds: Seconds.nullable(),
})

export const IncidentChangeView = shape('IncidentChange', {
  at: Time,
  state: z.enum(VERDICTS),
  codes: z.array(z.enum([...CONDITION_CODES, 'halted'])),
  samples: z.array(IncidentSampleView),
})
export type IncidentChangeView = z.infer<typeof IncidentChangeView>

export const IncidentSummaryView = shape('IncidentSummary', {
  id: z.string(),
  network: z.string(),
  /** Null for an incident of several endpoints. */
  endpoint: z.string().nullable(),
  cause: z.enum(INCIDENT_CAUSES),
  /** What it is about: an endpoint, several endpoints of one host or provider, or a whole network. */
  scope: z.enum(INCIDENT_SCOPES),
  /** The configured provider, of an outage of one. */
  provider: z.string().nullable(),
  /** The worst state reached. */
  state: z.enum(VERDICTS),
  conditions: z.array(IncidentConditionView),
  /** The first bad poll. */
  opened_at: Time,
  /** End of the planned maintenance in which it began; it was opened then. Null if it began outside of one. */
  planned_until: Time.nullable(),
  confirmed_at: Time,
  /** The first good poll; null, like the duration, while the incident is open. */
  closed_at: Time.nullable(),
  /** Without planned maintenance. */
  duration_seconds: Seconds.nullable(),
  flapping: z.boolean(),
  flaps: Count,
  /** The endpoints of an incident of several. */
  affected: z.array(z.string()),
  /** The places that see it; `default` for a daemon alone. */
  vantages: z.array(z.string()),
  /** The incident of several endpoints that this one is part of. */
  absorbed_by: z.string().nullable(),
  /** What channels received, in order; only with the token. Absent in events. */
  notifications: z.array(IncidentNotificationView).optional(),
})
export type IncidentSummaryView = z.infer<typeof IncidentSummaryView>

/** What a person wrote about an incident. */
export const NoteView = shape('IncidentNote', {
  id: z.string(),
  at: Time,
  /** Whether it is shown without the token. */
  public: z.boolean(),
  /** One or several lines. */
  text: z.string(),
})
export type NoteView = z.infer<typeof NoteView>

/** With very many changes, only the first and the latest. */
export const IncidentView = IncidentSummaryView.extend({
  changes: z.array(IncidentChangeView),
  /** Those that held at some time of it; only with the token. */
  silences: z.array(SilenceView),
  /** Oldest first; without the token, only public ones. */
  notes: z.array(NoteView),
}).meta({ id: 'Incident' })
export type IncidentView = z.infer<typeof IncidentView>

export const IncidentListView = shape('IncidentList', {
  incidents: z.array(IncidentSummaryView),
  /** Leads to the next page; null on the last one. */
  next_cursor: z.string().nullable(),
})
export type IncidentListView = z.infer<typeof IncidentListView>
