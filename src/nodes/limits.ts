/** No check has a use for more: the fullest block without its transactions is some 100 kB. Counted before and after decoding. */
export const MAX_ANSWER_BYTES = 1_048_576

/** What Node's own parser takes. */
export const MAX_HEADER_BYTES = 16_384

/** What a caller may ask for: the fullest block with its transactions and traces is some 10 MB. */
export const MAX_FORWARDED_BYTES = 33_554_432

/** Of all answers that are longer than a mebibyte, while they come in. */
export const MAX_INCOMING_BYTES = 536_870_912
