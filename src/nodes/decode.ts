import { promisify } from 'node:util'
import { brotliDecompress, unzip } from 'node:zlib'
import type { Failure } from '../core/failure.ts'

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

const unzipLimited: Decode = promisify(unzip)
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', unzipLimited],
  ['x-gzip', unzipLimited],
  ['deflate', unzipLimited],
  ['br', promisify(brotliDecompress) as Decode],
])

export function isPlain(encoding: string): boolean {
  return encoding === '' || encoding.toLowerCase() === 'identity'
}

/** Undoes a compression that nobody asked for, off the event loop. One only: nested ones multiply, and no node nests them. */
export async function decode(body: Buffer, encoding: string, limitBytes: number): Promise<Buffer | Failure> {
  const decoder = DECODERS.get(encoding.trim().toLowerCase())
  if (decoder === undefined) return { kind: 'bad-encoding' }
  try {
    return await decoder(body, { maxOutputLength: limitBytes })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? { kind: 'too-large', limitBytes }
      : { kind: 'bad-encoding' }
  }
}
