import { writeFileSync } from 'node:fs'
import { metricsReference } from './reference.ts'

writeFileSync(new URL('../../docs/metrics.md', import.meta.url), metricsReference())
