import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { complaintsAbout, incidentIds, killWhileNotifying } from './notify-kills.ts'
import { createRandom } from './random.ts'

test('kill -9 while messages go out loses none and keeps their order, and doubles have equal keys', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))

  const options = { incidents: 60, kills: 6, directory, random: createRandom(14) }
  const { received, refused, killed } = await killWhileNotifying(options)

  expect(complaintsAbout(received, incidentIds(60))).toEqual([])
  expect(killed).toBe(6)
  expect(refused).toBeGreaterThan(0)
  expect(received.length).toBeGreaterThan(60)
}, 240_000)

test('what was lost, out of order, or sent twice under two ids is noticed', () => {
  const opened = { id: 'a', type: 'incident.opened', incidents: ['i-0'], text: '' }
  const closed = { id: 'b', type: 'incident.closed', incidents: ['i-0'], text: 'net/own-0 has recovered after 1 s' }
  const good = [
    [opened, closed],
    [opened, opened, closed],
    [{ ...closed, text: 'it was down for 1 s, and has recovered' }],
  ]
  const bad = [[], [opened], [closed], [closed, opened], [opened, { ...opened, id: 'c' }, closed]]

  expect(good.map((received) => complaintsAbout(received, ['i-0']))).toEqual([[], [], []])
  for (const received of bad) expect(complaintsAbout(received, ['i-0'])).toHaveLength(1)
})
