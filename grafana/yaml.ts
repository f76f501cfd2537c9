import { stringify } from 'yaml'

/** Text of a kept file: long lines stay whole, and nothing refers to anything else in it. */
export function yaml(document: object): string {
  return `# Generated from grafana/: npm run grafana\n${stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
