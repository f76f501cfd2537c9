const MAX_LABEL_LENGTH = 128

/** A label's value as the text format wants it. What comes from a node is cut and made printable, so it can break no line. */
export function labelValue(value: string): string {
  const cut = value.length > MAX_LABEL_LENGTH ? `${value.slice(0, MAX_LABEL_LENGTH - 1)}…` : value
  return cut.replaceAll(UNPRINTABLE, '�').replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

/** Control and format characters, halves of surrogate pairs, and what ends a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu
