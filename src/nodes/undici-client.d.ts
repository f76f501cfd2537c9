declare module 'undici/lib/dispatcher/client.js' {
  import type { Client as WholeClient } from 'undici'

  /** Only the whole package adds `request`, `stream` and the like to it. */
  export default class Client {
    constructor(url: string | URL, options?: WholeClient.Options)
    readonly dispatch: WholeClient['dispatch']
    readonly destroy: WholeClient['destroy']
    readonly on: WholeClient['on']
  }
}
