/** Prints a message of the developer scripts on stderr. */
export function say(line) {
  process.stderr.write(`heartline: ${line}\n`)
}

/** Exits with a message instead of a stack trace. */
export function giveUp(...lines) {
  for (const line of lines) say(line)
  process.exit(1)
}
