import * as z from 'zod'
import { shape, Time } from './common.ts'

/** A time in which no messages are sent about a network or an endpoint. */
export const SilenceView = shape('Silence', {
  id: z.string(),
  network: z.string(),
  /** Null for the whole network. */
  endpoint: z.string().nullable(),
  reason: z.string(),
  from: Time,
  until: Time,
})
export type SilenceView = z.infer<typeof SilenceView>

export const SilencesView = shape('Silences', {
  /** Those that hold now; the one that ends first comes first. */
  silences: z.array(SilenceView),
})
export type SilencesView = z.infer<typeof SilencesView>
