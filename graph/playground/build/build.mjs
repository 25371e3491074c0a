// Bundles main.jsx into ../assets, with the licences of everything that is in the bundle.
import { build } from 'esbuild';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const out = new URL('../assets/', import.meta.url).pathname;
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  entryPoints: [{ in: 'main.jsx', out: 'playground' }],
  bundle: true, minify: true, format: 'iife', target: 'es2022', outdir: out, metafile: true, legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  loader: { '.woff': 'dataurl', '.woff2': 'dataurl', '.svg': 'dataurl' },
});

const packages = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const found = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(file);
  if (found) packages.add(found[1]);
}
const notices = [...packages].sort().map(folder => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find(f => /^(licen[cs]e|copying)/i.test(f));
  const text = file && existsSync(`${folder}/${file}`) ? readFileSync(`${folder}/${file}`, 'utf8').trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(`${out}LICENSES.txt`, notices.join('\n' + '-'.repeat(80) + '\n\n'));
