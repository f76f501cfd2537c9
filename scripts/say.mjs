/** What the house's tools have to tell, apart from anybody's standard output. */
export function say(line) {
  process.stderr.write(`heartline: ${line}\n`)
}

/** Ends with a sentence for the person at the keyboard instead of a stack trace. */
export function giveUp(...lines) {
  for (const line of lines) say(line)
  process.exit(1)
}
