import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from './build.mjs'
import { prepare, root } from './prepare.mjs'
import { giveUp } from './say.mjs'

// `npm start`: installs, bundles and runs Heartline in this process, so that signals, exit status and standard streams are its own.
await prepare({ forTests: false })
if (!(await bundle())) giveUp('bundling failed; see above.')

const main = join(root, 'dist/src/main.js')
if (!existsSync(main)) giveUp('dist/src/main.js is missing after bundling.')
process.argv[1] = main
process.setSourceMapsEnabled(true)
await import(pathToFileURL(main).href)
