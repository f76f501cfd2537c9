import { z } from 'zod'
import { BlocksView, BlockView, BlockWitnessView, ShardBlocksView } from './wire-blocks.ts'
import { ProblemView, SpreadView } from './wire-common.ts'
import {
  AliasView,
  CallerView,
  GatewayView,
  RequestTallyView,
  RoutedEndpointView,
  RoutingView,
  TrafficView,
} from './wire-gateway.ts'
import {
  HistoryBucketView,
  HistoryView,
  PollsView,
  PollView,
  RulesView,
  StripsView,
  StripView,
} from './wire-history.ts'
import {
  IncidentChangeView,
  IncidentConditionView,
  IncidentListView,
  IncidentSampleView,
  IncidentSummaryView,
  IncidentView,
} from './wire-incidents.ts'
import { OwnEventView, OwnHealthView } from './wire-own-health.ts'
import {
  AvailabilityView,
  ConditionView,
  EndpointView,
  HeadView,
  LivenessView,
  MaintenanceView,
  NetworkView,
  NodeCheckView,
  ObserverView,
  ReferenceHeadView,
  StateView,
  StatusEventView,
  StatusView,
} from './wire-status.ts'

/** Every shape on the wire by its name in the description, as JSON Schema. */
export function componentSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema as z.ZodType, { id })
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, id: _name, ...schema }]) => [id, schema]),
  )
}

export function reference(name: SchemaName): object {
  return { $ref: `#/components/schemas/${name}` }
}

const SCHEMAS = {
  Status: StatusView,
  StatusEvent: StatusEventView,
  Network: NetworkView,
  Endpoint: EndpointView,
  History: HistoryView,
  HistoryBucket: HistoryBucketView,
  Polls: PollsView,
  Poll: PollView,
  Rules: RulesView,
  Strips: StripsView,
  Strip: StripView,
  Blocks: BlocksView,
  ShardBlocks: ShardBlocksView,
  Block: BlockView,
  BlockWitness: BlockWitnessView,
  Condition: ConditionView,
  ReferenceHead: ReferenceHeadView,
  Head: HeadView,
  Liveness: LivenessView,
  NodeCheck: NodeCheckView,
  Availability: AvailabilityView,
  Maintenance: MaintenanceView,
  Incident: IncidentView,
  IncidentSummary: IncidentSummaryView,
  IncidentList: IncidentListView,
  IncidentCondition: IncidentConditionView,
  IncidentChange: IncidentChangeView,
  IncidentSample: IncidentSampleView,
  Gateway: GatewayView,
  Caller: CallerView,
  RoutedEndpoint: RoutedEndpointView,
  Routing: RoutingView,
  Traffic: TrafficView,
  RequestTally: RequestTallyView,
  Spread: SpreadView,
  OwnHealth: OwnHealthView,
  OwnEvent: OwnEventView,
  Alias: AliasView,
  Observer: ObserverView,
  State: StateView,
  Problem: ProblemView,
}
export type SchemaName = keyof typeof SCHEMAS
