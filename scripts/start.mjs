import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { prepare, root } from './prepare.mjs'
import { giveUp } from './say.mjs'

// `npm start`: installs, builds and runs Heartline in this process, so that signals, exit status and standard streams are its own.
await prepare({ forTests: false })
if (!(await build())) giveUp('the build failed; see above.')

const main = join(root, 'dist/src/main.js')
if (!existsSync(main)) giveUp('dist/src/main.js is missing after the build.')
process.argv[1] = main
process.setSourceMapsEnabled(true)
await import(pathToFileURL(main).href)
