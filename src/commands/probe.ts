import { systemClock } from '../clock.ts'
import type { ConfiguredNetwork } from '../config/resolve.ts'
import { humanDuration, seconds, type UnixMs } from '../core/time.ts'
import { worst } from '../core/verdict/condition.ts'
import type { Health } from '../core/verdict/health.ts'
import { judgeRound } from '../core/verdict/single-poll.ts'
import { table } from '../http/plain-text.ts'
import { consensusView } from '../http/status-views.ts'
import { createProber } from '../nodes/probe.ts'
import { targetsOf } from '../targets.ts'
import { readConfig } from './check-config.ts'
import { type CommandIo, EXIT } from './io.ts'

export interface ProbeOptions {
  readonly file: string
  /** NETWORK or NETWORK/ENDPOINT; empty for all endpoints. */
  readonly targets: readonly string[]
  readonly json: boolean
}

/**
 * Polls the configured endpoints once. Polls all endpoints of a selected network, because lag is relative to the other
 * endpoints, but prints only the selected ones.
 */
export async function probe({ file, targets, json }: ProbeOptions, io: CommandIo): Promise<number> {
  const loaded = readConfig(file, io)
  if (loaded === null) return EXIT.badConfig
  const { networks } = loaded.config
  const unknown = targets.filter((target) => !networks.some((network) => namesOf(network).includes(target)))
  if (unknown.length > 0) {
    for (const target of unknown) io.err(`heartline: ${target}: no such network or endpoint in ${file}`)
    return EXIT.usage
  }
  const isSelected = (network: string, endpoint: string) =>
    targets.length === 0 || targets.includes(network) || targets.includes(`${network}/${endpoint}`)
  return probeNetworks(networks, { json, isSelected }, io)
}

/** Polls every selected endpoint once, with all others of its network, and prints the verdicts. */
export async function probeNetworks(
  networks: readonly ConfiguredNetwork[],
  { json, isSelected = () => true }: PrintOptions,
  io: CommandIo,
): Promise<number> {
  const polled = networks.filter(({ network, endpoints }) =>
    endpoints.some(({ endpoint }) => isSelected(network.name, endpoint.name)),
  )
  const prober = createProber({ clock: systemClock })
  prober.retarget(targetsOf(polled))
  const rounds = await Promise.all(
    polled.map(async ({ network, endpoints }) => {
      const results = await Promise.all(endpoints.map(({ endpoint }) => prober.poll(endpoint, io.signal)))
      return judgeRound(network, results, systemClock.now()).filter(({ endpoint }) =>
        isSelected(network.name, endpoint.name),
      )
    }),
  )
  prober.close()

  const now = systemClock.now()
  const healths = rounds.flat()
  io.out(
    json ? JSON.stringify({ endpoints: healths.map((health) => asJson(health, now)) }, null, 2) : asTable(healths, now),
  )
  switch (worst(healths.map(({ verdict }) => verdict ?? 'down'))) {
    case 'up':
      return EXIT.ok
    case 'degraded':
      return EXIT.degraded
    case 'down':
      return EXIT.down
  }
}

interface PrintOptions {
  readonly json: boolean
  readonly isSelected?: (network: string, endpoint: string) => boolean
}

function namesOf({ network, endpoints }: ConfiguredNetwork): string[] {
  return [network.name, ...endpoints.map(({ endpoint }) => `${network.name}/${endpoint.name}`)]
}

/** A poll that failed for a local reason gives no verdict. */
const NO_VERDICT = 'not polled: this machine is out of resources'

function asTable(healths: readonly Health[], now: UnixMs): string {
  const rows = healths.map((health) => {
    const { endpoint, verdict, heads, liveness, latencyMs, conditions } = health
    const heartbeatAt = liveness?.heartbeatAt ?? null
    const { peers = null, client = null } = liveness?.report ?? {}
    const why = verdict === null ? NO_VERDICT : conditions.map(({ message }) => message).join('; ')
    return [
      endpoint.network,
      endpoint.name,
      verdict ?? 'unknown',
      heads.map(({ height }) => height).join(' ') || '-',
      heads.map(({ lagBlocks }) => lagBlocks ?? '-').join(' ') || '-',
      heartbeatAt === null ? '-' : humanDuration(Math.max(0, now - heartbeatAt)),
      String(peers ?? '-'),
      latencyMs === null ? '-' : humanDuration(latencyMs),
      client === null ? '-' : [client.name, client.version].filter((part) => part !== null).join(' '),
      why || 'ok',
    ]
  })
  const titles = ['NETWORK', 'ENDPOINT', 'STATE', 'HEIGHT', 'LAG', 'HEARTBEAT', 'PEERS', 'LATENCY', 'CLIENT', 'WHY']
  return table([titles, ...rows], '', []).join('\n')
}

/** Uses the status API's field names. */
function asJson(health: Health, now: UnixMs): object {
  const { endpoint, verdict, conditions, heads, liveness, latencyMs, clockSkewMs } = health
  const report = liveness?.report
  const heartbeatAt = liveness?.heartbeatAt ?? null
  return {
    network: endpoint.network,
    endpoint: endpoint.name,
    state: verdict ?? 'unknown',
    conditions: conditions.map(({ code, message }) => ({ code, message })),
    heads: heads.map(({ shard, height, hash, timestamp, lagBlocks, lagMs }) => ({
      shard,
      height,
      hash,
      timestamp: new Date(timestamp).toISOString(),
      lag_blocks: lagBlocks,
      lag_seconds: seconds(lagMs),
    })),
    healthy: liveness?.healthy ?? null,
    syncing: report?.sync?.isSyncing ?? null,
    blocks_to_go: report?.sync?.remainingBlocks ?? null,
    peers: report?.peers ?? null,
    consensus: consensusView(report?.consensus ?? null),
    not_offered: (liveness?.checks ?? []).filter(({ offered }) => offered === false).map(({ name }) => name),
    client: report?.client ?? null,
    heartbeat_lag_seconds: heartbeatAt === null ? null : seconds(Math.max(0, now - heartbeatAt)),
    latency_seconds: seconds(latencyMs),
    clock_skew_seconds: seconds(clockSkewMs),
  }
}
