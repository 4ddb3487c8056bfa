import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createOutputFormatter } from '../../../src/cli/dev/output/format-output.ts';

const root = mkdtempSync(join(tmpdir(), 'belfry-output-'));
afterAll(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, 'src'));
writeFileSync(join(root, 'src/app.ts'), "const one = 1;\nconst two = 2;\n\tthrow new Error('no');\n");
const belfry = join(root, '../belfry-sources');

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
  vi.stubEnv('FORCE_COLOR', undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** Returns what is written for some output. */
function format(output: string, code = { root, belfry }): string {
  let written = '';
  const formatter = createOutputFormatter(code, (text) => {
    written += text;
  });
  formatter.add(output);
  formatter.end();
  return written;
}

const TIME = new Date(2026, 10, 30, 12, 3, 4).toISOString();
const log = (fields: object) => `${JSON.stringify({ level: 'info', time: TIME, process: 'web', ...fields })}\n`;
const request = (fields: object) =>
  log({ outcome: 'sent', requestId: 'a-b', method: 'GET', durationMs: 14, userId: 'u', ...fields, msg: 'request' });
const STACK = [
  `    at check (file://${root}/src/app.ts:3:8)`,
  `    at run (file://${belfry}/src/records/create.ts:130:21)`,
  `    at handle (${root}/node_modules/express/lib/router.js:1:2)`,
  '    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
].join('\n');
const EXCERPT = `  src/app.ts:3:8
    1 | const one = 1;
    2 | const two = 2;
  > 3 | \tthrow new Error('no');
      | \t      ^
`;

test('a request is one line', () => {
  expect(format(request({ method: 'POST', route: '/api/bookings', status: 201 }))).toBe(
    '12:03:04 POST /api/bookings 201 14 ms\n',
  );
  expect(format(request({ outcome: 'aborted', route: '/api/posts/:id' }))).toBe(
    '12:03:04 GET /api/posts/:id aborted 14 ms\n',
  );
  expect(format(request({ status: 404 }))).toBe('12:03:04 GET (no route) 404 14 ms\n');
  expect(format(request({ route: '/api/a', status: 200, deprecated: ['max'] }))).toBe(
    '12:03:04 GET /api/a 200 14 ms deprecated=["max"]\n',
  );
});

test('requests of the console and for files of pages are shown only if they fail', () => {
  const routes = ['/console', '/console/events/:id', '/api/docs', '/account/assets/:file'];
  expect(routes.map((route) => format(request({ route, status: 200 })))).toEqual(routes.map(() => ''));
  expect(format(request({ route: '/console/data', status: 500 }))).toBe('12:03:04 GET /console/data 500 14 ms\n');
  const own = ['/consoles', '/api/assets/:file', '/api/console'];
  for (const route of own) expect(format(request({ route, status: 200 }))).toBe(`12:03:04 GET ${route} 200 14 ms\n`);
});

test('other lines have a level, a message and the few fields that the message does not say', () => {
  const line = log({ poolMax: 28, roles: ['web', 'relay'], allowed: 97, msg: 'up to 28 with web, relay' });
  expect(format(line)).toBe('12:03:04 info  up to 28 with web, relay allowed=97\n');
  const work = log({ level: 'warn', outcome: 'retry', durationMs: 5, name: 'a b', isLast: true, msg: 'job' });
  expect(format(work)).toBe('12:03:04 warn  job retry 5 ms name="a b" isLast=true\n');
  const many = log({ a: 10, b: 20, c: 30, d: 40, e: 50, f: 60, g: 70, msg: 'many' });
  expect(format(many)).toBe('12:03:04 info  many a=10 b=20 c=30 d=40 e=50 f=60 …\n');
  expect(format(log({ long: 'x'.repeat(500), msg: 'm' }))).toBe(`12:03:04 info  m long=${'x'.repeat(80)}…\n`);
});

test('text from outside cannot control the terminal', () => {
  const evil = '\u001b[2Jno\u202e\r\nfake';
  const written = format(
    log({ value: evil, [evil]: 1, msg: evil, err: { stack: `Error: \u001b[2J\u009b\n${STACK}` } }) +
      request({ method: 'GET', route: evil, status: 200 }),
  );
  expect(written).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
  expect(written.split('\n').some((line) => line.startsWith('fake'))).toBe(false);
});

test('an error has the line of the app that it comes from, and no frames of Node.js, Belfry and packages', () => {
  const own = `Error: no\n${EXCERPT}    at check (src/app.ts:3:8)\n`;
  const err = { type: 'Error', message: 'no', stack: `Error: no\n${STACK}` };
  expect(format(log({ level: 'error', err, msg: 'a request failed' }))).toBe(`12:03:04 error a request failed\n${own}`);
  expect(format(`Error: no\n${STACK}\n`)).toBe(own);
  expect(format(`Error: no\n${STACK.replaceAll('    at', '\u001b[90m    at')}\u001b[39m {\n  code: 'A'\n}\n`)).toBe(
    `${own}    {\n  code: 'A'\n}\n`,
  );
});

test('in the repository of Belfry, its code is that of the app', () => {
  const stack = `    at check (file://${root}/src/app.ts:3:8)`;
  expect(format(`Error: no\n${stack}\n`, { root, belfry: root })).toContain('> 3 |');
});

test('a stack without a frame of the app stays whole', () => {
  const stack = STACK.split('\n').slice(1).join('\n');
  expect(format(`Error: no\n${stack}\n`)).toBe(`Error: no\n${stack}\n`);
});

test('a frame whose file cannot be read, or is generated, has no excerpt', () => {
  writeFileSync(join(root, 'src/bundle.js'), `${'x'.repeat(5000)}\n`);
  for (const file of ['src/gone.ts', 'src/bundle.js'])
    expect(format(`Error: no\n    at a (${root}/${file}:1:1)\n`)).toBe(`Error: no\n    at a (${file}:1:1)\n`);
});

test('an uncaught error shows its line once', () => {
  const excerpt = "\tthrow new Error('no');\n\t      ^\n\n";
  expect(format(`file://${root}/src/app.ts:3\n${excerpt}Error: no\n${STACK}\n\nNode.js v24.21.0\n`)).toBe(
    `src/app.ts:3\n${excerpt}Error: no\n    at check (src/app.ts:3:8)\n\n`,
  );
  // One that Node.js or a package throws shows the line of the app that called it.
  expect(format(`node:fs:441\n    return binding.open(path);\n           ^\n\nError: no\n${STACK}\n`)).toBe(
    `Error: no\n${EXCERPT}    at check (src/app.ts:3:8)\n`,
  );
});

test('an error of a declaration, a syntax error and one of a page show the line', () => {
  const lines = ['  - Error: no (src/app.ts:3:8)', 'src/app.ts:3:8: ERROR: Expected ";"'];
  for (const line of lines) expect(format(`${line}\n`)).toBe(`${line}\n${EXCERPT}`);
  expect(format('  - SyntaxError: no (src/app.ts:2)\n')).toBe(
    '  - SyntaxError: no (src/app.ts:2)\n  src/app.ts:2\n    1 | const one = 1;\n  > 2 | const two = 2;\n',
  );
});

test('other output stays as it is', () => {
  const text =
    'Hello\n{"level":"high","time":"now"}\n{"level":"info"\n\u001b[32mgreen\u001b[39m\n  at noon\nhttp://localhost:5001\n';
  expect(format(text)).toBe(text);
});

test('what arrives in parts is put together, and a line that does not end is shown soon', async () => {
  let written = '';
  const formatter = createOutputFormatter({ root, belfry }, (text) => {
    written += text;
  });
  const line = request({ route: '/api/a', status: 200 });
  formatter.add(line.slice(0, 40));
  formatter.add(line.slice(40));
  formatter.add(`Error: no\n${STACK.slice(0, 30)}`);
  formatter.add(`${STACK.slice(30)}\n`);
  formatter.add('50 % ');
  await expect
    .poll(() => written)
    .toBe(`12:03:04 GET /api/a 200 14 ms\nError: no\n${EXCERPT}    at check (src/app.ts:3:8)\n50 % `);
  formatter.add('100 %\n');
  formatter.end();
  expect(written.endsWith('50 % 100 %\n')).toBe(true);
});

test('colours follow FORCE_COLOR and NO_COLOR', () => {
  const line = request({ route: '/api/a', status: 200 });
  expect(format(line)).not.toContain('\u001b');
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('FORCE_COLOR', '1');
  expect(format(line)).toContain('\u001b[32m200');
  vi.stubEnv('FORCE_COLOR', '0');
  expect(format(line)).not.toContain('\u001b');
});
