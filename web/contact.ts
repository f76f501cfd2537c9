/**
 * Whether the daemon is the one that this page came from, another one with other files (after an update this page cannot
 * load its remaining files), or gone.
 */
export async function checkDaemon(): Promise<'same' | 'other' | 'gone'> {
  try {
    // The address of this script contains a hash of its content.
    const answer = await fetch(import.meta.url, { method: 'HEAD', cache: 'no-store' })
    if (answer.status === 404) return 'other'
    return answer.ok ? 'same' : 'gone'
  } catch {
    return 'gone'
  }
}
