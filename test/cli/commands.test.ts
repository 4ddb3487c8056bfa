import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readMigrateArguments } from '../../src/cli/migration/migrate-arguments.ts';
import { readReceiverArguments } from '../../scripts/receiver.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { startScript } from '../support/processes/script.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

const begin = (command: string, env?: Record<string, string>) => startScript('.', command, env);

test.each([
  ['demo/demo.ts fast', 'Unknown argument fast. npm run demo takes no arguments.'],
  ['migrate.ts --force', 'Unknown argument --force. Usage: npm run migrate [-- --status | --dry-run]'],
  ['migration-generate.ts --drop title', '--drop title is malformed. Example: --drop posts.subtitle'],
  ['dev/dev.ts --frehs', 'Unknown argument --frehs. Options of npm run dev: --fresh, --allow-loss.'],
  ['receiver.ts', 'The secret of the endpoint is missing. Usage: npm run receiver -- whsec_…'],
])('%s is refused with one line', async (command, line) => {
  expect(await begin(command).ended).toEqual({ code: 1, output: line });
});

test('npm run migrate accepts only one option', () => {
  expect(() => readMigrateArguments(['--status', '--dry-run'])).toThrow(
    'Too many arguments. Usage: npm run migrate [-- --status | --dry-run]',
  );
  expect([[], ['--status'], ['--dry-run']].map(readMigrateArguments)).toEqual(['apply', 'status', 'sql']);
});

test.each<[string[], string | undefined, string]>([
  [[SECRET, '4001'], undefined, 'Unknown argument 4001. Usage: npm run receiver -- whsec_…'],
  [['whsec_!'], undefined, 'Invalid secret: it must be whsec_ followed by base64.'],
  [[SECRET.slice(6)], undefined, 'Invalid secret: it must be whsec_ followed by base64.'],
  ...['x', '70000', '-1', '80.5'].map((port): [string[], string, string] => [
    [SECRET],
    port,
    `RECEIVER_PORT must be a number from 0 to 65535, not ${port}.`,
  ]),
])('the receiver refuses %j with RECEIVER_PORT=%s', (given, port, line) => {
  expect(() => readReceiverArguments(given, port)).toThrow(new Error(line));
});

test('the receiver reports a port in use, and does not use the port of web', async () => {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { ended } = begin(`receiver.ts ${SECRET}`, { RECEIVER_PORT: String(port), PORT: '0' });
  expect(await ended).toEqual({ code: 1, output: `Port ${port} is in use. Choose another with RECEIVER_PORT.` });
  server.close();
});

test('the receiver responds to a GET without printing it; it prints that it refuses a POST without a signature', async () => {
  const { out } = begin(`receiver.ts ${SECRET}`, { RECEIVER_PORT: '0' });
  const url = await vi.waitUntil(() => /http:\S+/.exec(out.output)?.[0], { timeout: 60_000 });
  expect((await fetch(url)).status).toBe(200);
  expect(out.output).not.toContain('refused');
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  await vi.waitUntil(() => out.output.includes('refused: The header webhook-id is missing'), { timeout: 60_000 });
});

test('npm run migrate needs only DATABASE_URL, even in production', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const env = { DATABASE_URL: database.databaseUrl, NODE_ENV: 'production' };
  const { code, output } = await begin('migrate.ts', env).ended;
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/^0000_init applied\n[\s\S]*The database is up to date\.$/),
  });
  const client = new pg.Client(database.databaseUrl);
  await client.connect();
  expect((await client.query(`select to_regclass('outbox') is not null as made`)).rows).toEqual([{ made: true }]);
  await client.end();
});

test('npm run migrate reports that Postgres does not respond, after a few tries whose log lines name the command', async () => {
  const { code, output } = await begin('migrate.ts', { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/b' }).ended;
  expect(code).toBe(1);
  expect(output).toContain('trying again');
  expect(output).toContain('  - Postgres at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1');
  expect(output).not.toMatch(/hidden|\n {4}at /);
  const logged = output.split('\n').filter((line) => line.startsWith('{'));
  expect(logged.length).toBeGreaterThan(0);
  for (const line of logged) expect(JSON.parse(line)).toMatchObject({ process: 'migrate' });
});
