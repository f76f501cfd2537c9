import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { checkout } from './project.ts'

/**
 * A TypeScript program of the tests as one JavaScript file. Without a loader it starts in a quarter of the CPU time,
 * and no thread but its own opens or closes files.
 */
export async function bundled(program: string): Promise<string> {
  const outfile = join(checkout, 'node_modules/.cache/heartline', `${basename(program, '.ts')}-${process.pid}.mjs`)
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    plugins: [ownUrls, unusedVitest],
  })
  process.once('exit', () => rmSync(outfile, { force: true }))
  return outfile
}

/** Each module finds its neighbours where its source is. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      return {
        contents: text.replaceAll(/(?<!')import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href)),
        loader: 'ts',
      }
    })
  },
}

/** Helpers share files with what needs vitest, which cannot be loaded outside of it. */
const unusedVitest: Plugin = {
  name: 'unused-vitest',
  setup({ onResolve }) {
    onResolve({ filter: /^vitest$/ }, ({ path }) => ({ path, external: true, sideEffects: false }))
  },
}
