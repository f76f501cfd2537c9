import type { StoreTrouble } from './store.ts'

/** Functions by name, of a worker thread or of a database. A thread copies arguments and results. */
export type Handlers = { readonly [kind: string]: (...asked: never[]) => unknown }

/** Never rejects: a call that cannot be made resolves to a failure. */
export type Call<H extends Handlers> = <K extends keyof H>(
  kind: K,
  ...asked: Parameters<H[K]>
) => Promise<Reply<Awaited<ReturnType<H[K]>>>>

export type Reply<T> = { readonly ok: true; readonly value: T } | Failed
export interface Failed {
  readonly ok: false
  readonly trouble: StoreTrouble
  /** The error's code or name, because its message may contain paths and values. */
  readonly code: string
}
