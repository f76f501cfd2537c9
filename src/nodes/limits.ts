/** No check needs more: a full block without transactions has about 100 kB. Applies before and after decoding. */
export const MAX_ANSWER_BYTES = 1_048_576

/** The default of Node.js. */
export const MAX_HEADER_BYTES = 16_384

/** For forwarded requests: the largest block with its transactions and traces has about 10 MB. */
export const MAX_FORWARDED_BYTES = 33_554_432

/** Shared limit of all bodies longer than `SMALL_BODY_BYTES` while they are being received. */
export const MAX_INCOMING_BYTES = 536_870_912

/** Bodies up to this size do not count against the limit. */
export const SMALL_BODY_BYTES = 65_536

/** Longer bodies are received in turns. */
export const LARGE_BODY_BYTES = 1_048_576

/** A large body takes a turn each time when this much of it was received. */
export const TURN_BYTES = 65_536
