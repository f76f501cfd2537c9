import type { StoreError } from '../store/store.ts'

/** A command's environment and output, and the signal that stops it. */
export interface CommandIo {
  out(text: string): void
  err(text: string): void
  readonly env: NodeJS.ProcessEnv
  /** Aborted by SIGTERM or SIGINT. */
  readonly signal: AbortSignal
}

/** Exit statuses, numbered as in sysexits.h. */
export const EXIT = { ok: 0, degraded: 1, down: 2, usage: 64, software: 70, storeInUse: 75, badConfig: 78 } as const

/** The status of a store that is not opened: 75 if retrying later may help, 78 if something must be changed first. */
export function statusOfRefusal({ kind }: StoreError): number {
  return kind === 'store-in-use' ? EXIT.storeInUse : EXIT.badConfig
}

/** Says so if not: Node.js cannot resolve any path without one, and some packages cannot be loaded. */
export function hasWorkingDirectory({ err }: Pick<CommandIo, 'err'>): boolean {
  try {
    process.cwd()
    return true
  } catch {
    err('heartline: the working directory does not exist any more: change to another one')
    return false
  }
}

/** Resolves when the command must stop. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
