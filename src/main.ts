#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { run } from './commands/run.ts'

// Heartline often shares a machine with a node. By default, V8 lets the heap grow to several times its live size;
// collecting at 40 % growth halves the memory use and costs 1 % of CPU time.
setFlagsFromString('--heap-growing-percent=40')

// Only this user may read what the process writes, such as the store and its backups.
process.umask(0o077)

process.exitCode = await run(process.argv.slice(2))
