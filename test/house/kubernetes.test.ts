import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StatefulSet } from 'kubernetes-types/apps/v1.d.ts'
import type { Service } from 'kubernetes-types/core/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { version } from '../../src/version.ts'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'

const FOLDER = join(checkout, 'packaging/kubernetes')
const NAME = { 'app.kubernetes.io/name': 'heartline' }
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')
const kustomization = parse(read('kustomization.yaml')) as {
  readonly resources: readonly string[]
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly images: readonly { readonly name: string; readonly newTag: string }[]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
}

const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest),
)
const ofKind = (kind: string, name = 'heartline'): unknown =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)
const set = () => (ofKind('StatefulSet') as StatefulSet).spec
const container = () => set()?.template.spec?.containers[0]

/** What the Prometheus Operator's ServiceMonitor may hold, of which Kubernetes itself has no description. */
const SERVICE_MONITOR = `interface ServiceMonitor {
  apiVersion: 'monitoring.coreos.com/v1'; kind: 'ServiceMonitor'; metadata: ObjectMeta
  spec: { selector: LabelSelector; endpoints: { port: string; path: string; interval: string
    authorization: { credentials: { name: string; key: string } } }[] }
}`

/** Compiled against the types that are generated from the OpenAPI description of Kubernetes, which have no unknown keys. */
function errorsOf(all: readonly Manifest[]): string {
  const folder = temporaryFolder()
  onTestFinished(() => removeFolder(folder))
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  const lines = all.map((one, at) => `export const _${at}: ${one.kind} = ${JSON.stringify(one, null, 1)}`)
  writeFileSync(
    join(folder, 'manifests.ts'),
    [
      `import type { StatefulSet } from 'kubernetes-types/apps/v1'`,
      `import type { Service } from 'kubernetes-types/core/v1'`,
      `import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1'`,
      `import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1'`,
      SERVICE_MONITOR,
      ...lines,
    ].join('\n'),
  )
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--module', 'nodenext', '--types', '']
  return spawnSync(process.execPath, [join(checkout, 'node_modules/typescript/lib/tsc.js'), ...flags, 'manifests.ts'], {
    cwd: folder,
    encoding: 'utf8',
  }).stdout
}

test('the manifests for Kubernetes are what its API accepts, without unknown keys', () => {
  const [first] = manifests.filter(({ kind }) => kind === 'StatefulSet')
  const wrong = { ...first, spec: { ...set(), replicas: 'two', replica: 2 } } as unknown as Manifest

  expect(manifests.map(({ kind }) => kind).sort()).toEqual([
    'PodDisruptionBudget',
    'Service',
    'Service',
    'ServiceMonitor',
    'StatefulSet',
  ])
  expect(errorsOf(manifests)).toBe('')
  expect(errorsOf([wrong])).toMatch(/'string' is not assignable to type 'number'|'replica' does not exist/)
})

test('every file is part of the kustomization, and the image is that of this version', () => {
  const listed = [...kustomization.resources, ...kustomization.configMapGenerator.flatMap(({ files }) => files)]

  expect(readdirSync(FOLDER).sort()).toEqual([...listed, 'kustomization.yaml'].sort())
  expect(kustomization.images).toMatchObject([{ name: container()?.image, newTag: version }])
})

test('selectors, ports, volumes and the claim of the spool fit together', () => {
  const ports = container()?.ports?.map(({ name }) => name)
  const services = manifests.filter(({ kind }) => kind === 'Service') as unknown as readonly Service[]
  const volumes = [
    ...(set()?.template.spec?.volumes ?? []).map(({ name }) => name),
    ...(set()?.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name),
  ]

  expect(set()?.template.metadata?.labels).toEqual(NAME)
  expect(set()?.selector.matchLabels).toEqual(NAME)
  expect((ofKind('PodDisruptionBudget') as PodDisruptionBudget).spec?.selector?.matchLabels).toEqual(NAME)
  for (const { spec } of services) {
    expect(spec?.selector).toEqual(NAME)
    for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort)
  }
  expect(services.map(({ metadata }) => metadata?.name)).toContain(set()?.serviceName)
  expect(new Set(volumes)).toEqual(new Set(container()?.volumeMounts?.map(({ name }) => name)))
  const monitor = ofKind('ServiceMonitor') as { spec: { selector: { matchLabels: Record<string, string> } } }
  const scraped = services.filter(({ metadata }) =>
    Object.entries(monitor.spec.selector.matchLabels).every(([name, value]) => metadata?.labels?.[name] === value),
  )
  expect(scraped.map(({ metadata }) => metadata?.name)).toEqual(['heartline-members'])
})

test('the configuration is valid, listens where the probes ask, and has its secrets by reference only', () => {
  const env = container()?.env ?? []
  const values = {
    HEARTLINE_VANTAGE: 'fra1',
    DATABASE_URL: 'postgres://heartline:x@db/heartline',
    HEARTLINE_TOKEN: 'x'.repeat(32),
  }

  expect(env.map(({ name }) => name).sort()).toEqual(Object.keys(values).sort())
  for (const { name, value, valueFrom } of env) {
    if (name === 'HEARTLINE_VANTAGE') expect(value).toBe('default')
    else expect([value, valueFrom?.secretKeyRef?.name]).toEqual([undefined, 'heartline'])
  }
  expect(manifests.some(({ kind }) => kind === 'Secret')).toBe(false)
  const loaded = loadConfig(join(FOLDER, 'heartline.yaml'), values)
  expect(loaded.ok).toBe(true)
  const { server } = parse(read('heartline.yaml')) as { server: { listen: string } }
  expect(container()?.ports?.map(({ containerPort }) => `0.0.0.0:${containerPort}`)).toEqual([server.listen])
})
