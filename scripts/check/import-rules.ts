// Runs dependency-cruiser over src/, workers/ and examples/ with the rules of .dependency-cruiser.mjs. Fails on a violation. It also fails
// if dependency-cruiser read fewer modules than there are files, or found no import in a file that has some: a parser that reads
// nothing finds no violation.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { findForbiddenPageImports } from './page-imports.ts';
import { aboveTheFace, folderOf, mayImport, roomOrders } from './rooms.ts';

interface Cruise {
  modules: { source: string; dependencies: unknown[] }[];
  summary: {
    violations: {
      type: string;
      from: string;
      to: string;
      rule: { name: string };
      comment?: string;
      cycle?: { name: string }[];
    }[];
  };
}

const files = globSync(
  '{src,packages/{client,verify-webhook}/src,packages/pages/build,workers,examples}/**/*.ts',
).sort();
const folders = ['src', 'packages', 'workers', 'examples'].filter((folder) =>
  files.some((file) => file.startsWith(`${folder}/`)),
);
const { stdout, stderr } = spawnSync(
  process.execPath,
  [
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    '--config',
    '.dependency-cruiser.mjs',
    '--output-type',
    'json',
    ...folders,
  ],
  { encoding: 'utf8', maxBuffer: 1 << 28 },
);
let cruise: Cruise;
try {
  cruise = JSON.parse(stdout);
} catch {
  console.error(stderr || stdout || 'dependency-cruiser printed nothing.');
  process.exit(1);
}

const dependencies = new Map(cruise.modules.map((module) => [module.source, module.dependencies.length]));
const hasImports = (file: string) => /^(import|export)\b[^;]*\bfrom '/m.test(readFileSync(file, 'utf8'));
const unreadFiles = files.filter((file) => !dependencies.has(file) || (!dependencies.get(file) && hasImports(file)));
for (const file of unreadFiles) console.error(`not read: ${file}`);
const { violations } = cruise.summary;
for (const { rule, from, to, cycle, comment } of violations) {
  const path = cycle ? [from, ...cycle.map(({ name }) => name)] : from === to ? [from] : [from, to];
  console.error(`${rule.name}: ${path.join(' → ')}${comment === undefined ? '' : `. ${comment}`}`);
}
// The parser does not see `import('./x.ts').T` in a type, which would bypass every rule.
const HIDDEN_IMPORT = /(?<!\bawait |\breturn |=> )\bimport\(|\bimport\('[^']*'\)\.(?!then\b)/;
const hiddenImports = files.filter((file) => HIDDEN_IMPORT.test(readFileSync(file, 'utf8')));
for (const file of hiddenImports) console.error(`import() in a type: ${file}. Write \`import type\` at the top.`);
// The parser does not tell `import type` from `import`.
const TYPES_ONLY = [{ folder: 'src/declare/', of: 'platform', why: 'a declaration runs nothing' }];
let valueImports = 0;
for (const { folder, of, why } of TYPES_ONLY) {
  const path = `'[^']*/${of}/`;
  const imports = new RegExp(
    `^(?:import|export)\\b(?! type\\b)[^;]*\\bfrom ${path}|^import ${path}|\\bimport\\(${path}`,
    'm',
  );
  for (const file of files.filter((each) => each.startsWith(folder) && imports.test(readFileSync(each, 'utf8')))) {
    console.error(`${file} must import only types of src/${of}: ${why}. Write \`import type\`.`);
    valueImports++;
  }
}

const pageImports = findForbiddenPageImports();
for (const text of pageImports) console.error(text);

const newRooms = globSync('src/*', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'app' && mayImport[entry.name] === undefined)
  .map(({ name }) => name);
for (const room of newRooms) console.error(`src/${room} is new: say in scripts/check/rooms.ts what it may import.`);

/** The number of files from which a room with sub-folders needs an order. */
const LARGE_ROOM_FILES = 13;
const rooms = globSync('src/{*,extensions/*}', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'extensions')
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice('src/'.length))
  .sort();
const subFoldersOf = (room: string) =>
  !existsSync(folderOf(room))
    ? []
    : readdirSync(folderOf(room), { withFileTypes: true })
        .filter(
          (entry) => entry.isDirectory() && files.some((file) => file.startsWith(`${folderOf(room)}/${entry.name}/`)),
        )
        .map(({ name }) => name)
        .filter((name) => !aboveTheFace[room]?.includes(name));
const isLarge = (room: string) => files.filter((file) => file.startsWith(`src/${room}/`)).length >= LARGE_ROOM_FILES;
const unordered = [...new Set([...rooms.filter(isLarge), ...Object.keys(roomOrders)])].filter(
  (room) => subFoldersOf(room).sort().join() !== [...(roomOrders[room] ?? [])].sort().join(),
);
for (const room of unordered)
  console.error(
    `roomOrders in scripts/check/rooms.ts must have exactly these folders of ${folderOf(room)}, each after those that it imports: ${subFoldersOf(room).join(', ')}`,
  );
console.log(`${files.length - unreadFiles.length} of ${files.length} modules read, ${violations.length} violations`);
if (
  unreadFiles.length ||
  violations.length ||
  hiddenImports.length ||
  valueImports ||
  newRooms.length ||
  pageImports.length ||
  unordered.length
)
  process.exit(1);
