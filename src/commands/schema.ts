import * as z from 'zod'
import { ConfigFile } from '../config/schema.ts'
import { type CommandIo, EXIT } from './io.ts'

/** Prints the JSON Schema of the configuration file. */
export function schema(io: Pick<CommandIo, 'out'>): number {
  io.out(JSON.stringify(configJsonSchema(), null, 2))
  return EXIT.ok
}

/** The configuration file's JSON Schema for editors; it describes the file before interpolation. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(ConfigFile, {
    io: 'input',
    // A scalar accepts `unknown` and keeps its JSON Schema in its metadata.
    override: ({ jsonSchema }) => {
      const own = jsonSchema as Node
      if (own.jsonSchema !== undefined) Object.assign(own, own.jsonSchema)
      delete own.jsonSchema
      delete own.kind
      delete own.defaultText
    },
  })
  return { ...schema, title: 'Heartline configuration' }
}

interface Node {
  jsonSchema?: object
  kind?: string
  defaultText?: string
}
