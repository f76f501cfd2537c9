import { createBrotliDecompress, createUnzip, type Unzip } from 'node:zlib'
import type { Failure } from '../core/failure.ts'
import type { Deadline } from './deadline.ts'

/**
 * Decompresses a body that a node compressed without being asked, within `maxBytes` and the deadline. Nested encodings
 * are rejected, because their ratios multiply and no node uses them.
 */
export function decode(
  body: Buffer,
  encoding: string,
  maxBytes: number,
  deadline: Deadline,
): Promise<Buffer | Failure> {
  const decoder = createDecoder(encoding.trim().toLowerCase())
  if (decoder === null) return Promise.resolve({ kind: 'bad-encoding' })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (result: Buffer | Failure): void => {
      deadline.unwatch(expire)
      decoder.destroy()
      resolve(result)
    }
    const expire = (): void => finish({ kind: 'timeout', afterMs: deadline.afterMs })
    if (deadline.passed) return expire()
    deadline.watch(expire)
    decoder
      .on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) finish({ kind: 'too-large', limitBytes: maxBytes })
        else chunks.push(chunk)
      })
      .on('end', () => finish(Buffer.concat(chunks)))
      .on('error', () => finish({ kind: 'bad-encoding' }))
      .end(body)
  })
}

export function isPlain(encoding: string): boolean {
  return encoding === '' || encoding.toLowerCase() === 'identity'
}

function createDecoder(encoding: string): Unzip | null {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return createUnzip()
    case 'br':
      return createBrotliDecompress()
  }
  return null
}
