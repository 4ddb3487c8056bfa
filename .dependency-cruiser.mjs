import { readdirSync } from 'node:fs';
import { aboveTheFace, folderOf, internalsOfExtensions, mayImport, roomOrders } from './scripts/check/rooms.ts';

// The import rules: layers import only layers below them. `npm run check` enforces them (scripts/check/import-rules.ts).

const orderRules = Object.entries(roomOrders).flatMap(([room, order]) =>
  order.map((folder, index) => ({
    name: `${room}/${folder}-imports-downward`,
    comment: `${room}/${folder} may import ${order.slice(0, index).join(', ') || 'nothing else'} of ${folderOf(room)}, and no file at its root (scripts/check/rooms.ts).`,
    severity: 'error',
    from: { path: `^${folderOf(room)}/${folder}/` },
    to: { path: `^${folderOf(room)}/`, pathNot: `^${folderOf(room)}/(${order.slice(0, index + 1).join('|')})/` },
  })),
);

const topRules = Object.entries(aboveTheFace).flatMap(([room, folders]) =>
  folders.map((folder) => ({
    name: `${room}/${folder}-stands-above`,
    comment: `Nothing else in ${folderOf(room)} imports ${folder} (scripts/check/rooms.ts).`,
    severity: 'error',
    from: { path: `^${folderOf(room)}/`, pathNot: `^${folderOf(room)}/${folder}/` },
    to: { path: `^${folderOf(room)}/${folder}/` },
  })),
);

const layers = Object.entries(mayImport).map(([folder, allowed]) => ({
  name: `${folder}-imports-downward`,
  comment: `src/${folder} may import ${allowed.length ? allowed.join(', ') : 'nothing else of src'}.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...allowed].join('|')})/` },
}));

const extensions = readdirSync(new URL('./src/extensions', import.meta.url));
const entryRules = extensions.map((extension) => {
  const files = ['extension/index.ts', ...(internalsOfExtensions[extension] ?? [])].map((file) => RegExp.escape(file));
  return {
    name: `${extension}-uses-the-entry`,
    comment:
      'An extension imports its own files and src/extension/index.ts. scripts/check/rooms.ts lists the exceptions.',
    severity: 'error',
    from: { path: `^src/extensions/${extension}/` },
    to: { path: '^src/', pathNot: `^src/(extensions/.*|${files.join('|')})$` },
  };
});

const entries =
  '^src/(index|web|client|react|verify-webhook|(extension|testing)/index|cli/belfry)\\.ts$|^workers/|^packages/verify-webhook/|^packages/pages/build/';

export default {
  forbidden: [
    ...layers,
    ...orderRules,
    ...topRules,
    ...entryRules,
    {
      name: 'extensions-stand-alone',
      comment: 'An extension never imports another one: what they share is on the app object.',
      severity: 'error',
      from: { path: '^src/extensions/([^/]+)/' },
      to: { path: '^src/extensions/', pathNot: '^src/extensions/$1/' },
    },
    {
      name: 'index-without-the-deployment',
      comment: 'The public API knows nothing of this deployment.',
      severity: 'error',
      from: { path: '^src/index\\.ts$' },
      to: { path: '^src/(app/|web\\.ts$)' },
    },
    {
      name: 'testing-for-tests-only',
      comment: 'src/testing is for the tests of an app: nothing that an app runs imports it.',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/testing/' },
      to: { path: '^src/testing/' },
    },
    {
      name: 'processes-start-the-app',
      comment: 'src/web.ts and workers/ start src/app by src/runtime, and do nothing else.',
      severity: 'error',
      from: { path: '^(src/web\\.ts$|workers/)' },
      to: { path: '^(src|workers)/', pathNot: '^src/(app|runtime)/' },
    },
    {
      name: 'processes-are-entries',
      comment: 'src/web.ts and workers/ are started, not imported.',
      severity: 'error',
      from: {},
      to: { path: '^(src/web\\.ts$|workers/)' },
    },
    {
      name: 'not-to-development',
      comment: 'What runs in production imports nothing of test/, bench/ or scripts/.',
      severity: 'error',
      from: { path: '^(src|packages|workers)/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'examples-use-the-package',
      comment:
        'An example imports Belfry by the names of its package, as projects do, and no other example, except that a front end imports its app.',
      severity: 'error',
      from: { path: '^examples/([^/]+?)(-web)?/' },
      to: { path: '^(src|workers|test|bench|scripts|examples)/', pathNot: '^examples/$1(-web)?/' },
    },
    {
      name: 'not-to-examples',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^examples/' },
    },
    {
      name: 'not-to-dev-dependencies',
      comment:
        'What runs in production must be in dependencies. Optional peer dependencies may be loaded when they are asked for.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: {
        dependencyTypes: ['npm-dev'],
        pathNot: 'node_modules/(drizzle-kit|oidc-provider|react|@tanstack/react-query|sharp|testcontainers)/',
      },
    },
    {
      name: 'drizzle-kit-only-on-demand',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: 'node_modules/drizzle-kit/', dynamic: false },
    },
    {
      name: 'not-to-unlisted-packages',
      comment: 'A package that is imported stands in package.json.',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: {
        dependencyTypes: ['npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/(@tanstack/react-query|oidc-provider|react|sharp|testcontainers)/',
      },
    },
    {
      name: 'verify-webhook-needs-nothing',
      comment: 'Receivers can copy the files, so they import each other and node:crypto, and types of node:http.',
      severity: 'error',
      from: { path: '^packages/verify-webhook/src/' },
      to: { pathNot: '^packages/verify-webhook/src/|^(crypto|http)$' },
    },
    {
      name: 'webhook-handler-needs-no-node',
      comment: '@belfry/verify-webhook/fetch runs where there is no module of Node.',
      severity: 'error',
      from: { path: '^packages/verify-webhook/src/(fetch|receive|message|seen-store)\\.ts$' },
      to: { path: '^(crypto|http)$|/(index|express|node-signatures)\\.ts$' },
    },
    {
      name: 'client-stands-alone',
      comment: 'The client imports its own files; its hooks also React and TanStack Query.',
      severity: 'error',
      from: { path: '^packages/client/' },
      to: { pathNot: '^packages/client/|node_modules/(react|@types/react|@tanstack/react-query)/' },
    },
    {
      name: 'no-circles',
      comment: 'No circles, type imports included.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A module that nothing imports and that imports nothing is forgotten.',
      severity: 'error',
      from: { path: '^(src|packages|workers)/', orphan: true, pathNot: entries },
      to: {},
    },
    {
      name: 'resolvable',
      comment: 'The names of the package in the examples lead to dist/, which need not exist.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^belfry(/testing|/extension)?$' },
    },
  ],
  options: {
    // TypeScript 7 offers no parser to other programs, so the default parser would read no modules.
    parser: 'swc',
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    doNotFollow: { path: 'node_modules' },
    // The parser does not read JSX: scripts/check/page-imports.ts.
    exclude: { path: '/page/|\\.tsx$|^packages/pages/src/|^packages/[^/]+/dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
