import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findProject } from '../../../src/cli/project/project.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createAppProject } from '../../support/processes/app-project.ts';
import { runCommandsInOneProcess, startCommand } from '../../support/processes/command.ts';

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000 });

/** Creates a project with these files, and a function that runs a command in it, or in a folder of it. */
function createProject(files: Record<string, string>) {
  const { folder, write, remove } = createAppProject();
  onTestFinished(remove);
  for (const [file, text] of Object.entries(files)) write(file, text);
  return {
    folder,
    run: (command: string, env?: Record<string, string>, from = '.') =>
      startCommand(join(folder, from), command, env).ended,
  };
}

/** Returns the file of the app that is found from a folder of a project, relative to the root. Throws if none is found. */
function findAppFile(files: readonly string[], from = '.', appFile?: string): string {
  const { folder } = createProject(Object.fromEntries(files.map((file) => [file, ''])));
  mkdirSync(join(folder, from), { recursive: true });
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(join(folder, from));
  try {
    const found = findProject(appFile);
    return `${found.root} ${found.appFile}`.replaceAll(folder, '.');
  } finally {
    cwd.mockRestore();
  }
}

test.each([
  [['belfry.config.ts'], './belfry.config.ts'],
  [['src/app.ts'], './src/app.ts'],
  [['src/app/index.ts'], './src/app/index.ts'],
  [['src/app.js'], './src/app.js'],
  [['src/app.mjs'], './src/app.mjs'],
  [['src/app.ts', 'belfry.config.ts'], './belfry.config.ts'],
  [['src/app/index.ts', 'src/app.ts'], './src/app.ts'],
])('of the files %j, the app is %s, also from a folder below', (files, appFile) => {
  expect(findAppFile(files)).toBe(`. ${appFile}`);
  // From src/, the file src/app.ts is ./app.ts, but the root stays the same.
  for (const from of ['src', 'src/resources/deep', 'test']) expect(findAppFile(files, from)).toBe(`. ${appFile}`);
});

test('the app is not looked for above the folder of package.json', () => {
  expect(() => findAppFile(['src/app.ts', 'other/package.json'], 'other')).toThrow(
    /^No app found in \S+\/other: there is neither src\/app\.ts nor belfry\.config\.ts\.\n.* create an app: npm create belfry@latest$/,
  );
  expect(findAppFile(['src/app.ts', 'other/package.json', 'other/src/app.ts'], 'other')).toBe(
    './other ./other/src/app.ts',
  );
});

test('--app names the file of the app, relative to the working directory', () => {
  expect(findAppFile(['src/app.ts', 'apps/shop.ts'], '.', 'apps/shop.ts')).toBe('. ./apps/shop.ts');
  expect(findAppFile(['apps/shop.ts'], 'apps', 'shop.ts')).toBe('./apps ./apps/shop.ts');
  expect(() => findAppFile(['src/app.ts'], '.', 'shop.ts')).toThrow(/^--app shop\.ts: there is no such file\.$/);
});

test('a command outside of a project fails with what to do', async () => {
  const { folder } = createProject({});
  const commands = ['privacy report', 'privacy report --app app.ts'];
  const [absent, named] = await runCommandsInOneProcess(commands.map((command) => ({ folder, command })));
  expect(absent).toEqual({
    code: 1,
    output: `No app found in ${folder}: there is neither src/app.ts nor belfry.config.ts.
Run the command in the folder of your app, name the file with --app, or create an app: npm create belfry@latest`,
  });
  expect(named).toEqual({ code: 1, output: '--app app.ts: there is no such file.' });
});

const NO_APP = 'src/app.ts does not export an app:';
const MUST_RETURN = 'its function app(environment) must return createApp({ … }, environment)';
const MUST_EXPORT =
  'export a function that creates it: export const app = (environment) => createApp({ … }, environment), or export default';
const MUST_BE_FUNCTION = 'src/app.ts must export a function that creates the app:';
const FAILED = 'src/app.ts cannot be loaded:';

const BROKEN_APPS: [what: string, app: string, heading: string, ...lines: string[]][] = [
  [
    'throws while it loads',
    'const settings: any = undefined;\nsettings.port;',
    FAILED,
    "TypeError: Cannot read properties of undefined (reading 'port') (src/app.ts:2:10)",
  ],
  [
    'throws while it creates the app',
    `export const app = () => { throw new RangeError('too many'); };`,
    FAILED,
    'RangeError: too many (src/app.ts:1:34)',
  ],
  [
    'imports a module that throws',
    `import './resources/a b.ts';`,
    FAILED,
    'Error: from another file (src/resources/a b.ts:1:7)',
  ],
  ['throws something else than an Error', `throw 'a text';`, FAILED, 'Error: a text'],
  [
    'calls Belfry in a way that throws',
    `import { f } from 'belfry';\nf.string().foo();`,
    FAILED,
    'TypeError: f.string(...).foo is not a function (src/app.ts:2:12)',
  ],
  [
    'has a syntax error',
    'export const app = () => {{;',
    FAILED,
    "SyntaxError: Expected '}', got '<eof>' (src/app.ts:1)",
  ],
  [
    'imports a name that does not exist',
    `import { creatApp } from 'belfry';`,
    FAILED,
    "SyntaxError: The requested module 'belfry' does not provide an export named 'creatApp' (src/app.ts:1:10)",
  ],
  ['exports nothing', 'const app = () => 1;', NO_APP, MUST_EXPORT],
  ['exports no function', 'export const app = {};', NO_APP, MUST_EXPORT],
  [
    'exports an app',
    'export const app = { start() {} };',
    MUST_BE_FUNCTION,
    '`app` is an app, not a function (environment) => createApp({ … }, environment)',
  ],
  [
    'exports an app by default',
    'export default { start() {} };',
    MUST_BE_FUNCTION,
    'its default export is an app, not a function (environment) => createApp({ … }, environment)',
  ],
  ['exports a function that returns nothing', 'export const app = () => undefined;', NO_APP, MUST_RETURN],
  ['exports an async function', 'export default async () => ({});', NO_APP, MUST_RETURN],
  [
    'has configuration errors',
    `import { createApp, defineResource, f } from 'belfry';
     const post = defineResource('post', { fields: { id: f.string(), by: f.ref('writer') } });
     export const app = (environment) => createApp({ resources: [post], extension: [] }, environment);`,
    'The app has configuration errors:',
    '"extension" is not an option of createApp. Did you mean "extensions"?',
    expect.stringMatching(/^resource "post": .*"id"/),
    expect.stringMatching(/^resource "post": .*"writer"/),
  ],
];

test('an app that cannot be loaded is reported without a stack trace, with the place in its code', async () => {
  const runs = BROKEN_APPS.map(([, app]) => {
    const files = { 'src/app.ts': app, 'src/resources/a b.ts': `throw new Error('from another file');` };
    return { folder: createProject(files).folder, command: 'privacy report' };
  });
  const results = await runCommandsInOneProcess(runs);
  const shown = results.map(({ code, output }, i) => {
    const [heading, ...lines] = output.split('\n');
    return [BROKEN_APPS[i]![0], code, heading, ...lines.map((line) => line.replace(/^ {2}- /, ''))];
  });
  expect(shown).toEqual(BROKEN_APPS.map(([what, , ...lines]) => [what, 1, ...lines]));
});

test('start reports an app that cannot be loaded: in plain lines, or in production as a log line', async () => {
  const { run } = createProject({ 'src/app.ts': `throw new Error('no')` });
  const message = `${FAILED}\n  - Error: no (src/app.ts:1:7)`;
  expect(await run('start', { NODE_ENV: 'development' })).toEqual({ code: 1, output: message });
  const { code, output } = await run('start', { NODE_ENV: 'production' });
  expect([code, JSON.parse(output)]).toEqual([
    1,
    expect.objectContaining({ level: 'fatal', process: 'web', msg: message }),
  ]);
});

test('.env is read from the root of the project, also from a folder below, and the shell takes precedence', async () => {
  const { run } = createProject({
    '.env': 'FIRST=from .env\nSECOND=from .env\nTHIRD=from .env',
    'src/app.ts': `export const app = ({ FIRST, SECOND, THIRD }) => { throw new Error([FIRST, SECOND, THIRD].join(', ')); };`,
  });
  const env = { SECOND: 'from the shell', THIRD: '' };
  for (const from of ['.', 'src'])
    expect((await run('privacy report', env, from)).output).toContain(
      'Error: from .env, from the shell,  (src/app.ts:',
    );
});

const APP = `import { createApp, defineUser } from 'belfry';
export const app = (environment) => createApp({ resources: [defineUser()] }, environment);`;

test('a Postgres and a Redis that are not there are reported in plain lines, without the secrets of their URLs', async () => {
  const { run } = createProject({ 'src/app.ts': APP });
  const env = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    DATABASE_URL: 'postgres://belfry:hidden@127.0.0.1:1/app?application_name=hidden',
    REDIS_URL: 'redis://default:hidden@127.0.0.1:2/0',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  };
  const POSTGRES =
    '  - Postgres at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1; check DATABASE_URL, and that Postgres runs';
  const REDIS =
    '  - Redis at 127.0.0.1:2 cannot be reached: connect ECONNREFUSED 127.0.0.1:2; check REDIS_URL, and that Redis runs';
  const commands: [command: string, process: string, ...lines: string[]][] = [
    ['start', 'web', POSTGRES, REDIS],
    ['migrate', 'migrate', POSTGRES],
    ['admin list', 'admin', POSTGRES],
  ];
  await Promise.all(
    commands.map(async ([command, process, ...lines]) => {
      const { code, output } = await run(command, env);
      const { logged = [], plain } = Object.groupBy(output.split('\n'), (line) =>
        line[0] === '{' ? 'logged' : 'plain',
      );
      expect([code, plain]).toEqual([1, ['The app cannot use its servers:', ...lines]]);
      expect(output).not.toMatch(/hidden|AQEBAQ/);
      // Attempts are logged in the name of the command.
      for (const line of logged) expect(JSON.parse(line)).toMatchObject({ level: 'warn', process });
    }),
  );
});

test('start without Redis is reported, and a missing variable with an example of its value', async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  onTestFinished(drop);
  const { run } = createProject({ 'src/app.ts': APP });
  const env = { NODE_ENV: 'test', DATABASE_URL: databaseUrl };
  const [unreachable, missing] = await Promise.all([
    run('start', { ...env, REDIS_URL: 'rediss://:hidden@127.0.0.1:1' }),
    run('start', env),
  ]);
  expect(unreachable).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^ {2}- Redis at 127\.0\.0\.1:1 cannot be reached/m),
  });
  expect(unreachable.output).not.toContain('hidden');
  expect(missing).toEqual({
    code: 1,
    output: expect.stringMatching(/^The app has configuration errors:\n {2}- REDIS_URL is missing/),
  });
});

const NOT_CHECKED = 'warning  The servers and the database were not checked.';

test('belfry doctor prints each finding with what to do, as JSON if asked, and fails if there is an error', async () => {
  const database = await createTestDatabase();
  onTestFinished(database.drop);
  const { folder } = createProject({ 'src/app.ts': APP, 'bad.ts': `${APP}\nthrow new Error('no');` });
  const env = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' };
  const [report, json, incomplete, broken] = await runCommandsInOneProcess([
    { folder, command: 'doctor', env },
    { folder, command: 'doctor --json', env },
    { folder, command: 'doctor', env: { NODE_ENV: 'test' } },
    { folder, command: 'doctor --app bad.ts', env },
  ]);

  expect(report!.code).toBe(1);
  const lines = report!.output.split('\n');
  expect(lines[0]).toMatch(/^ok {7}Belfry \S+ on Node 2\d\.\S+ \(\w+\)\.$/);
  expect(report!.output).toContain(`
error    There are no migrations: ${folder}/migrations contains none. Generate the first one with npx belfry migration generate init, or restore the folder from version control.
error    Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.
         Fix: check REDIS_URL, and that Redis runs.

Errors: 2. Warnings: 0.`);

  expect(json!.code).toBe(1);
  expect(JSON.parse(json!.output)).toContainEqual({
    level: 'error',
    message: 'Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    fix: 'check REDIS_URL, and that Redis runs',
  });

  expect(incomplete!.output.split('\n').slice(1)).toEqual([
    'error    DATABASE_URL is missing: it should look like postgres://user:password@host:5432/name.',
    'error    REDIS_URL is missing: it should look like redis://host:6379.',
    NOT_CHECKED,
    expect.stringMatching(/^ {9}Fix: set the variables in the shell or in \.env\. .* start npx belfry dev/),
    '',
    'Errors: 2. Warnings: 1.',
  ]);
  expect(broken!.output.split('\n').slice(1, 4)).toEqual([
    'error    bad.ts cannot be loaded: Error: no (bad.ts:3:7).',
    NOT_CHECKED,
    '         Fix: fix the errors above, then run npx belfry doctor again.',
  ]);
});
