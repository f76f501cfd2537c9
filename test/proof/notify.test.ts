import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { complaintsAbout, killWhileNotifying } from './notify-kills.ts'
import { createRandom } from './random.ts'

test('kill -9 while messages go out loses none and keeps their order, and doubles have equal keys', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))

  const options = { incidents: 60, kills: 12, directory, random: createRandom(14) }
  const { received, refused, killed } = await killWhileNotifying(options)

  expect(complaintsAbout(received, 60)).toEqual([])
  expect(killed).toBe(12)
  expect(refused).toBeGreaterThan(0)
  expect(received.length).toBeGreaterThan(60)
}, 240_000)
