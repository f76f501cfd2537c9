/**
 * Who is there now: the daemon that this page came from, another one with other files (an update: what this page has yet
 * to load is gone), or nobody.
 */
export async function checkDaemon(): Promise<'same' | 'other' | 'nobody'> {
  try {
    // The address of these scripts names their content.
    const answer = await fetch(import.meta.url, { method: 'HEAD', cache: 'no-store' })
    if (answer.status === 404) return 'other'
    return answer.ok ? 'same' : 'nobody'
  } catch {
    return 'nobody'
  }
}
