#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'

// Heartline often shares a machine with a node, and by default V8 lets the heap grow to several times its live size. With
// 10,000 endpoints, a poll costs a tenth more at 60 % growth, and memory grows by 57 MiB at 150 % (bench/README.md).
setFlagsFromString('--heap-growing-percent=100')

// Only this user may read what the process writes, such as the store and its backups.
process.umask(0o077)

// While the program loads, SIGHUP would end a daemon, which reads its configuration later anyway.
const ignore = () => undefined
process.on('SIGHUP', ignore)
const { run } = await import('./commands/run.ts')
// Commands listen to signals at once.
const status = run(process.argv.slice(2))
process.off('SIGHUP', ignore)

process.exitCode = await status
