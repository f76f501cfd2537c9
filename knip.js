import { readFileSync } from 'node:fs'

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))

export default {
  entry: [
    'src/main.ts',
    'src/**/*-{worker,process}.ts',
    'web/app.ts',
    'web/views/{overview/endpoint-query,overview/wall,events}.ts',
    'bench/*.ts',
    'scripts/{start,check,prepare,build,counts,sbom}.mjs',
  ],
  project: ['src/**/*.ts', 'web/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'grafana/**/*.ts', 'scripts/*.{mjs,ts}'],
  vitest: true,
  // test/house/lock-file.test.ts checks that each of these packages is used.
  ignoreWorkspaces: ['test/packages'],
  ignoreDependencies: ['light-my-request', ...Object.keys(read('test/packages/package.json').devDependencies)],
  ignoreExportsUsedInFile: { interface: true, type: true },
  ignoreBinaries: [
    'apt-get',
    'amtool',
    'biome',
    'cc',
    'chrt',
    'heartline',
    'ip',
    'knip',
    'mkfifo',
    'mount',
    'nginx',
    'openssl',
    'oxlint',
    'pngquant',
    'prlimit',
    'prometheus',
    'prometheus-alertmanager',
    'promtool',
    'systemd-analyze',
    'taskset',
    'tsc',
    'tsx',
    'umount',
    'unshare',
    'vitest',
  ],
}
