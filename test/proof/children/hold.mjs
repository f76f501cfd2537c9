import { isMainThread } from 'node:worker_threads'

// Loaded into a daemon with `node --import`: each SIGUSR2 holds its event loop for HOLD_MS, as a bug of ours would.
if (isMainThread) {
  process.on('SIGUSR2', () => {
    const until = performance.now() + Number(process.env.HOLD_MS)
    while (performance.now() < until);
  })
}
