import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npmCommand } from './install-packages.mjs'
import { root } from './prepare.mjs'

// `npm run sbom`: a CycloneDX bill of materials of what runs with Heartline, on stdout or in the named file (`npm pack` puts it into
// the package). `npm sbom --omit dev` also omits packages that development and production share, so npm gets a project without the
// development packages.
const folder = mkdtempSync(join(tmpdir(), 'heartline-sbom-'))
try {
  const { devDependencies: _, workspaces, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  delete lock.packages[''].devDependencies
  delete lock.packages[''].workspaces
  for (const [path, { dev, resolved }] of Object.entries(lock.packages)) {
    if (dev || workspaces.includes(path) || workspaces.includes(resolved)) delete lock.packages[path]
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const { command, args, env } = npmCommand(['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'])
  const bill = execFileSync(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const file = process.argv[2]
  if (file === undefined) process.stdout.write(bill)
  else writeFileSync(join(root, file), bill)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
