// Builds build/ogw, the whole program in one executable file: the compiled code and all packages
// as one module, inside a copy of the Node that runs this. Needs Node 26 (`--build-sea`).

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import path from 'node:path'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Another folder may be named. */
const out = path.resolve(process.argv[2] ?? path.join(root, 'build'))
const compiled = path.join(root, 'dist/src')
mkdirSync(out, { recursive: true })

const common = {
  bundle: true,
  platform: 'node',
  target: 'node26',
  minify: true,
  keepNames: true,
  legalComments: 'none',
  logLevel: 'warning',
}

/** Ink asks for them only where DEV is set; no package here brings them. */
const withoutDeveloperTools = {
  name: 'without-developer-tools',
  setup(builder) {
    const namespace = 'empty'
    builder.onResolve({ filter: /^react-devtools-core$/ }, ({ path: name }) => {
      return { path: name, namespace }
    })
    builder.onLoad({ filter: /.*/, namespace }, () => ({ contents: 'export default {}' }))
  },
}

await build({
  ...common,
  format: 'esm',
  entryPoints: [path.join(compiled, 'cli/main.js')],
  outfile: path.join(out, 'ogw.mjs'),
  plugins: [withoutDeveloperTools],
  define: { 'process.env.NODE_ENV': '"production"' },
  logOverride: { 'assign-to-define': 'silent' },
  // Packages in the older module form ask for Node's own modules with require.
  banner: {
    js: "import { createRequire as ogwRequire } from 'node:module'; const require = ogwRequire(process.execPath);",
  },
})

await build({
  ...common,
  format: 'cjs',
  entryPoints: [path.join(compiled, 'gateway/proxy/parser-thread.js')],
  outfile: path.join(out, 'parser-thread.cjs'),
})

const config = {
  main: path.join(out, 'ogw.mjs'),
  mainFormat: 'module',
  output: path.join(out, 'ogw'),
  disableExperimentalSEAWarning: true,
  useSnapshot: false,
  useCodeCache: false,
  // As in bin/ogw.
  execArgv: [
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=2',
    '--no-parallel-scavenge',
    '--no-maglev',
  ],
  assets: { 'parser-thread': path.join(out, 'parser-thread.cjs') },
}
writeFileSync(path.join(out, 'sea.json'), `${JSON.stringify(config, null, 2)}\n`)
execFileSync(process.execPath, ['--build-sea', path.join(out, 'sea.json')], { stdio: 'inherit' })
process.stdout.write(`built ${path.relative(process.cwd(), config.output)}\n`)
