import { urlOf } from '../config/addresses.ts'
import type { Config } from '../config/resolve.ts'
import type { GatewayService } from '../gateway/service.ts'
import type { Logger } from '../log.ts'

/** How the page or the gateway listens. */
export function listenerOf({ listen, tls }: Pick<Config['server'], 'listen' | 'tls'>, maxConnections: number) {
  return { ...listen, tls: certificateOf({ tls }), maxConnections }
}

export async function listenGateway(gateway: GatewayService | null, { tls, callers }: Config['gateway'], log: Logger) {
  if (gateway === null) return null
  const url = urlOf(await gateway.listen(), tls !== null)
  log.info({ url, callers: callers.length }, 'gateway listening')
  return url
}

export function renewCertificate(
  listener: { useCertificate(certificate: Certificate): void } | null,
  settings: Pick<Config['server'], 'tls'>,
): void {
  const certificate = certificateOf(settings)
  if (certificate !== null) listener?.useCertificate(certificate)
}

type Certificate = { readonly cert: string; readonly key: string }

function certificateOf({ tls }: Pick<Config['server'], 'tls'>): Certificate | null {
  return tls === null ? null : { cert: tls.cert, key: tls.key.reveal() }
}
