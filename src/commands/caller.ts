import { randomBytes } from 'node:crypto'
import { callerName } from '../config/scalars.ts'
import { type CommandIo, EXIT } from './io.ts'

/** Prints a new endpoint_id and the YAML for it. The id is not stored. */
export function newCaller({ name }: { readonly name: string }, io: Pick<CommandIo, 'out' | 'err'>): number {
  if (!callerName({ description: '' }).safeParse(name).success) {
    io.err('heartline: expected a name of 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -')
    return EXIT.usage
  }
  const id = freshEndpointId()
  const variable = `CALLER_${name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`
  io.out(
    [
      `# The endpoint_id is a password. ${name} needs it for its URLs. It is not shown again.`,
      `# To keep it out of the file, set ${variable} in the daemon's environment and write "\${${variable}}" below.`,
      'gateway:',
      '  enabled: true',
      '  callers:',
      // Quoted, because YAML reads 1e5 and true as a number and a boolean.
      `    - name: "${name}"`,
      `      endpoint_id: "${id}"`,
    ].join('\n'),
  )
  return EXIT.ok
}

/** 256 bits, which are 43 characters of base64url, all valid in an endpoint_id. */
const ID_BYTES = 32

export function freshEndpointId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}
