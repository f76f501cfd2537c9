const HEAD = '{"jsonrpc":"2.0",'
const RESULT = '"result":'

/**
 * What stands where the `result` does in an answer that is written as nodes write them (the id before the result, or after
 * it); `null` where it is written otherwise. If that text is one JSON value, then it is the result, and the answer has
 * no member besides it but the version and the id asked for.
 */
export function resultText(body: string, id: number): string | null {
  if (!body.startsWith(HEAD)) return null
  const end = body.endsWith('}\n') ? body.length - 2 : body.endsWith('}') ? body.length - 1 : -1
  const idFirst = `"id":${id},${RESULT}`
  if (body.startsWith(idFirst, HEAD.length)) return between(body, HEAD.length + idFirst.length, end)
  const idLast = `,"id":${id}`
  return body.startsWith(RESULT, HEAD.length) && body.endsWith(idLast, end)
    ? between(body, HEAD.length + RESULT.length, end - idLast.length)
    : null
}

function between(body: string, start: number, end: number): string | null {
  return end > start ? body.slice(start, end) : null
}
