import type { Secret } from '../../secret.ts'
import type { HttpRequest } from '../channel.ts'

/** A POST of JSON, as nearly every service takes it. */
export function jsonPost(
  url: Secret,
  body: object,
  { path, headers = {}, secrets = [] }: Partial<Pick<HttpRequest, 'path' | 'headers' | 'secrets'>> = {},
): HttpRequest {
  return { kind: 'http', url, ...(path === undefined ? {} : { path }), headers, body: JSON.stringify(body), secrets }
}
