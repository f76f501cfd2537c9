import { execFileSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { describe, expect, type TestContext, test } from 'vitest'
import { startFleet } from '../../bench/fleet.ts'
import { systemClock } from '../../src/clock.ts'
import {
  type DaemonOptions,
  type RunningDaemon,
  removeFolder,
  type StatusView,
  startDaemon,
  temporaryFolder,
  until,
} from '../support/daemon.ts'
import { recordNotifications } from '../support/systemd-notify.ts'
import { sumOf, textOf } from './scene.ts'

const WATCHDOG_MS = 6000

async function open(
  { onTestFinished }: TestContext,
  urls: readonly string[],
  interval: string,
  options: DaemonOptions = {},
): Promise<RunningDaemon> {
  const endpoints = urls.map((url, at) => ({ name: `e${at}`, url }))
  const networks = [{ name: 'net', family: 'ethereum', endpoints }]
  const daemon = await startDaemon({ poll: { interval }, networks }, options)
  onTestFinished(async () => {
    await daemon.stop('SIGKILL')
    removeFolder(daemon.folder)
  })
  return daemon
}

function endpointsIn(metrics: string, state: string): number {
  return sumOf(metrics, 'network_endpoints', { state })
}

/** Over new connections. The one that finds no file free is closed, and makes room for the next. */
async function ask(url: string): Promise<string> {
  for (let turn = 0; turn < 5; turn++) {
    const text = await textOf(url).catch(() => null)
    if (text !== null) return text
    await systemClock.sleep(200)
  }
  throw new Error('the page does not answer')
}

/** Keeps so many connections that send nothing, until the returned function is called. */
function occupy(url: string, count: number): () => void {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isOver = false
  const open = (): void => {
    if (isOver) return
    const socket = connect(Number(port), hostname).on('error', () => {})
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      setTimeout(open, 250)
    })
  }
  for (let one = 0; one < count; one++) open()
  return () => {
    isOver = true
    for (const socket of sockets) socket.destroy()
  }
}

function limitFiles(daemon: RunningDaemon, files: number): void {
  // The soft limit alone: it can be raised again.
  execFileSync('prlimit', ['--pid', String(daemon.process.pid), `--nofile=${files}:`])
}

describe.concurrent('a daemon that has too little', () => {
  test('of file descriptors blames no node, reports it, and goes on when it has enough', {
    timeout: 120_000,
  }, async (context) => {
    const count = 150
    const fleet = await startFleet({ clock: systemClock, family: 'ethereum', count, origins: count })
    context.onTestFinished(() => fleet.stop())
    const folder = temporaryFolder()
    const notifications = recordNotifications(folder, WATCHDOG_MS)
    const { env } = notifications
    const daemon = await open(context, fleet.urls, '4s', { folder, env, early: true })
    const metrics = () => ask(`${daemon.url}/metrics`)

    limitFiles(daemon, 80)
    await until(async () => sumOf(await metrics(), 'observer_impaired') === 1, 'it is reported')
    let scarce = ''
    await until(async () => {
      scarce = await metrics()
      return endpointsIn(scarce, 'up') > count / 2
    }, 'what is free is used: most are polled, over connections that are not kept')
    const status = JSON.parse(await ask(`${daemon.url}/api/v1/status`)) as StatusView
    const leave = occupy(daemon.url, 100)
    context.onTestFinished(leave)
    const sentBefore = notifications.sent().length
    // Three are sent in the time of the watchdog.
    await until(() => notifications.sent().length > sentBefore + 3, 'signs of life without a free descriptor')
    leave()
    limitFiles(daemon, 4096)
    await until(async () => endpointsIn(await metrics(), 'up') === count, 'everybody is up')

    expect(status.observer.reasons).toContain('this machine is out of resources (EMFILE)')
    expect(sumOf(scarce, 'check_failures_total', { reason: 'local-resources' })).toBeGreaterThan(0)
    expect(endpointsIn(scarce, 'up') + endpointsIn(scarce, 'unknown')).toBe(count)
    expect(sumOf(scarce, 'incidents_open')).toBe(0)
    expect(notifications.longestGapMs()).toBeLessThan(WATCHDOG_MS)
  })

  test('of memory polls thousands of endpoints that all fail', { timeout: 240_000 }, async (context) => {
    const heapMiB = 128
    // Each has a host of its own, on which nothing listens.
    const urls = Array.from({ length: 2000 }, (_, at) => `http://127.1.${Math.floor(at / 250)}.${1 + (at % 250)}:9`)

    const daemon = await open(context, urls, '10s', { env: { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` } })
    let metrics = ''
    await until(
      async () => {
        // Each scrape of two thousand endpoints takes the daemon's time too.
        await systemClock.sleep(3000)
        metrics = (await daemon.get('/metrics')).text
        return sumOf(metrics, 'incidents_open') === urls.length
      },
      'an incident of each is open',
      200_000,
    )

    expect(Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics)?.[1])).toBeLessThan(heapMiB * 2 ** 20)
    expect(daemon.process.exitCode).toBeNull()
  })
})
