import { configJsonSchema } from '../config/reference.ts'
import { type CommandIo, EXIT } from './io.ts'

/** Prints the JSON Schema of the configuration file. */
export async function schema(_options: object, io: Pick<CommandIo, 'out'>): Promise<number> {
  io.out(JSON.stringify(configJsonSchema(), null, 2))
  return EXIT.ok
}
