// Registers a folder as a script of the organization, or as its next version where the name is taken already.
//
//   SCRIPTORIUM_KEY=$(cat data/admin.key) node examples/register.mjs examples/house_deck [draft]
//
// The folder's script.json is the input of scriptCreate without its files; every other file goes into the package: text with the
// request, everything else as an upload, which is deleted again when the package has its copy. Left out are names that begin with a dot, __pycache__ and
// node_modules. SCRIPTORIUM_URL is the server's address, http://127.0.0.1:8080 where it is left out. It needs Node 18.17 or newer.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const INLINE = 64 * 1024; // a request has at most 1 MiB: what is longer is uploaded

/** The API of a server. Refusals are errors. */
export function connect({ url = 'http://127.0.0.1:8080', key }) {
  const headers = { Authorization: `Bearer ${key}` };
  const read = async (response) => {
    const { data, errors } = await response.json();
    if (errors) throw new Error(errors.map((e) => e.message).join('\n'));
    const refused = Object.values(data).flatMap((payload) => payload?.userErrors ?? []);
    if (refused.length) throw new Error(refused.map((e) => e.message).join('\n'));
    return data;
  };
  const ask = async (query, variables) => read(await fetch(`${url}/graphql`, {
    method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify({ query, variables }),
  }));
  const upload = async (name, bytes) => {
    const form = new FormData(); // https://github.com/jaydenseric/graphql-multipart-request-spec
    form.set('operations', JSON.stringify({
      query: 'mutation($file: Upload!) { fileUpload(input: { file: $file }) { file { id } userErrors { message path } } }', variables: { file: null },
    }));
    form.set('map', JSON.stringify({ 0: ['variables.file'] }));
    form.set('0', new Blob([bytes]), name);
    const data = await read(await fetch(`${url}/graphql`, { method: 'POST', headers: { ...headers, 'GraphQL-Require-Preflight': '1' }, body: form }));
    return data.fileUpload.file.id;
  };
  return { ask, upload };
}

/** Registers a folder; answers {script, version, created}: created is false where nothing had changed. */
export async function register(api, folder, { draft } = {}) {
  const { name, ...input } = JSON.parse(readFileSync(join(folder, 'script.json'), 'utf8'));
  const files = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const full = join(entry.parentPath ?? entry.path, entry.name), steps = relative(folder, full).split(sep), path = steps.join('/');
    if (!entry.isFile() || path === 'script.json' || steps.some((s) => s.startsWith('.') || s === '__pycache__' || s === 'node_modules')) continue;
    files.push({ path, ...(await source(api, entry.name, readFileSync(full))) });
  }
  try {
    return await save(api, { name, ...input, files, draft });
  } finally {
    for (const { fileId } of files) {
      if (fileId) await api.ask('mutation($file: ID!) { fileDelete(input: { file: $file }) { deletedId userErrors { message path } } }', { file: fileId });
    }
  }
}

/** Creates the script of the name, or its next version. */
async function save(api, { name, ...input }) {
  const fields = 'script { id name } version { id number status } created userErrors { message path }';
  const { script } = await api.ask('query($name: String!) { script(name: $name) { id } }', { name });
  if (!script) {
    const { scriptCreate } = await api.ask(
      `mutation($input: ScriptCreateInput!) { scriptCreate(input: $input) { ${fields.replace('created', '')} } }`, { input: { name, ...input } });
    return { ...scriptCreate, created: true };
  }
  const { scriptVersionCreate } = await api.ask(
    `mutation($input: ScriptVersionCreateInput!) { scriptVersionCreate(input: $input) { ${fields} } }`, { input: { script: script.id, ...input } });
  return scriptVersionCreate;
}

/** A file's content, or, where it is no text or long, the id of its upload. */
async function source(api, name, bytes) {
  try {
    if (bytes.length <= INLINE) return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    // it is no text
  }
  return { fileId: await api.upload(name, bytes) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder, draft] = process.argv.slice(2);
  if (!folder || !process.env.SCRIPTORIUM_KEY) {
    console.error('Usage: SCRIPTORIUM_KEY=… node register.mjs FOLDER [draft]');
    process.exit(2);
  }
  try {
    const api = connect({ url: process.env.SCRIPTORIUM_URL, key: process.env.SCRIPTORIUM_KEY });
    const { script, version, created } = await register(api, folder, { draft: draft === 'draft' });
    console.log(`${script.name}, version ${version.number} (${version.id}, ${version.status.toLowerCase()})${created ? '' : ': nothing has changed'}`);
  } catch (error) {
    console.error(error.cause ? `${error.message}: ${error.cause.message || error.cause.code}` : error.message);
    process.exit(1);
  }
}
