import { stringify } from 'yaml'

/** The text of a generated file, without line folding and without YAML anchors. */
export function yaml(document: object): string {
  return `# Generated from grafana/: npm run grafana\n${stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
