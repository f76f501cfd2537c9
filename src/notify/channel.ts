import type { ChannelTarget } from '../config/resolve-notify.ts'
import type { Secret } from '../secret.ts'
import type { Said } from './wording.ts'

/** How one type of channel sends messages. A new type is a file in `channels/` and a row in `channel-table.ts`. */
export interface ChannelType<Name extends ChannelTarget['type'] = ChannelTarget['type']> {
  /** Whether what opens together is one message. */
  readonly groups: boolean
  /** The requests that say it, or a mail. Several requests go to equal receivers, of which one must accept it. */
  render(said: Said, target: TargetOf<Name>): readonly HttpRequest[] | Mail
  /** Tells a receiver again what is open, if it forgets it otherwise. */
  readonly keepAlive?: {
    readonly everyMs: number
    render(open: readonly Said[], target: TargetOf<Name>): readonly HttpRequest[]
  }
}

/** What a channel of this type is configured with. */
type TargetOf<Name> = ChannelTarget & { readonly type: Name }

export interface HttpRequest {
  readonly url: Secret
  /** Appended to the URL. */
  readonly path?: string
  readonly method?: 'POST' | 'GET' | 'PUT'
  /** Values may be credentials. */
  readonly headers: Readonly<Record<string, Secret>>
  readonly body: string
  /** Credentials in URL and body, which no error may repeat. */
  readonly secrets?: readonly Secret[]
  /** Sent once this one was accepted. */
  readonly next?: HttpRequest
}

export interface Mail {
  readonly smtp: Secret
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly messageId: string
  /** `Message-ID` of the thread's root; `null` for a mail that is part of no thread. */
  readonly references: string | null
}

export function isMail(rendered: readonly HttpRequest[] | Mail): rendered is Mail {
  return 'smtp' in rendered
}

/** A POST of JSON, as nearly every service takes it. */
export function jsonPost(
  url: Secret,
  body: object,
  { path, headers = {}, secrets = [] }: Partial<Pick<HttpRequest, 'path' | 'headers' | 'secrets'>> = {},
): HttpRequest {
  return { url, ...(path === undefined ? {} : { path }), headers, body: JSON.stringify(body), secrets }
}
