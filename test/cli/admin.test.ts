import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../src/index.ts';
import { blog } from '../fixtures/blog/app.ts';
import { createClient, startTestApp } from '../support/app.ts';
import { generateKey } from '../support/database/encrypted-patients.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { BLOG, createAppProject } from '../support/processes/app-project.ts';
import { runCommandProcess, runCommandsInOneProcess } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const project = createAppProject();
project.writeApp(BLOG);
afterAll(project.remove);
const SVC_ENCRYPTION_KEYS = generateKey();
const { app, url, env: own } = await startTestApp(blog, { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS }) });
const stores = { DATABASE_URL: own.DATABASE_URL!, SVC_ENCRYPTION_KEYS };
const login = (email: string, password: string) => createClient(url)('POST', '/api/auth/login', { email, password });

/** Runs a command in this process, on the running app. */
const admin = (args: string) => runCommand(`admin ${args}`, app);

/** Runs a command in a process of its own. */
const command = (args: string, input: string) => runCommandProcess(project.folder, `admin ${args}`, stores, input);

test('the first admin is created on the command line, with a generated password that is printed once or with a given one', async () => {
  const made = await admin('create --email Root@Example.com --name Root');
  expect(made).toMatchObject({ code: 0, errorOutput: '' });
  expect(made.output).toMatch(/^root@example.com is admin now \([0-9a-f]{24}\)\.\nPassword \(shown only once\): \S+$/);
  const password = made.output.split(' ').at(-1)!;
  expect(password).toMatch(/^(?:[a-z2-9]{5}-){3}[a-z2-9]{5}$/);
  const { body } = await login('root@example.com', password);
  expect(body.data.user).toMatchObject({ name: 'Root', roles: ['user', 'admin'], status: 'active' });
  expect((await createClient(url, body.data.token)('GET', '/api/users')).status).toBe(200);

  expect(await admin('create --email root@example.com')).toEqual({
    code: 1,
    output: '',
    errorOutput:
      'An account with this e-mail already exists. To give it a role: npx belfry admin promote --email root@example.com',
  });

  const input = 'a bell rings at noon\nand more\n';
  const own = await command('create --email two@example.com --role editor --set bio=Counts --password-stdin', input);
  expect(own).toMatchObject({ code: 0, output: expect.not.stringContaining('bell') });
  const client = new Client({ connectionString: stores.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query(`select password from users where email = 'two@example.com'`);
  await client.end();
  // At full cost: a command must not hash passwords more cheaply than the service.
  expect(rows[0].password).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/);
  const second = await login('two@example.com', 'a bell rings at noon');
  expect(second.body.data.user).toMatchObject({ name: 'two', roles: ['user', 'editor'], bio: 'Counts' });

  expect(await command('create --email three@example.com --password-stdin', 'Password123')).toEqual({
    code: 1,
    output: '',
    errorOutput: 'password: This password is too common, choose another one',
  });
});

test('roles are granted and revoked, accounts disabled and enabled, and sessions listed and ended', async () => {
  const email = 'ann@example.com';
  const account = { name: 'Ann', email, password: 'a bell rings at noon' };
  const { token, user } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  const isIn = async (as: string) => (await createClient(url, as)('GET', '/api/auth/me')).status === 200;

  expect(await admin(`promote --email ${email}`)).toMatchObject({ output: `${email} has the roles: user, admin` });
  expect((await createClient(url, token)('GET', '/api/users')).status).toBe(200);
  expect((await admin('list --role admin')).output).toContain(`${user.id}   ${email}`);
  expect(await admin(`demote --email ${email}`)).toMatchObject({ output: `${email} has the roles: user` });
  expect((await createClient(url, token)('GET', '/api/users')).status).toBe(403);
  expect((await admin('list --role admin')).output).not.toContain(email);

  expect((await admin(`sessions --email ${email}`)).output).toMatch(
    /^id +created +last used +method +address +user agent\n[0-9a-f]{24} .+ password /,
  );
  expect(await admin(`sessions --email ${email} --end`)).toMatchObject({ output: `Ended all sessions of ${email}.` });
  expect(await isIn(token)).toBe(false);

  const next = (await login(email, account.password)).body.data.token;
  expect(await admin(`disable --email ${email}`)).toMatchObject({ code: 0, output: `${email} is disabled.` });
  expect([await isIn(next), (await login(email, account.password)).status]).toEqual([false, 403]);
  expect(await admin(`enable --email ${email}`)).toMatchObject({ output: `${email} is active.` });
  // Earlier sessions stay ended.
  expect([await isIn(next), (await login(email, account.password)).status]).toEqual([false, 200]);

  const role = await admin(`promote --email ${email} --role king`);
  expect([role.code, role.errorOutput]).toEqual([1, expect.stringMatching(/^roles\.1: /)]);
  expect(await admin('promote --email nobody@example.com')).toMatchObject({
    code: 1,
    errorOutput: 'No account with the e-mail nobody@example.com.',
  });
});

test('the reason of an error in the database is printed, without control characters', async () => {
  await admin('create --email refused@example.com');
  const client = new Client({ connectionString: stores.DATABASE_URL });
  await client.connect();
  onTestFinished(async () => {
    await client.query('drop function refuse_update cascade');
    await client.end();
  });
  await client.query(`create function refuse_update() returns trigger language plpgsql as
    $$ begin raise exception E'Accounts are frozen\\x1b[2J\\u202E'; end $$`);
  await client.query(
    'create trigger refuse_update before update on users for each row execute function refuse_update()',
  );
  expect(await admin('disable --email refused@example.com')).toEqual({
    code: 1,
    output: '',
    errorOutput: 'Accounts are frozen [2J',
  });
});

test('users are imported from a file; refused rows are listed in a file next to it that only its owner can read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'users.ndjson');
  const rows = Array.from({ length: 1200 }, (_, i) => ({ email: `many-${i}@example.com`, name: `Number ${i}` }));
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  expect(await admin(`import ${file}`)).toEqual({
    code: 0,
    // Progress lines, one per second, may come first.
    output: expect.stringMatching(/(^|\n)1,200 lines: 1,200 imported, 0 already stored, 0 refused$/),
    errorOutput: '',
  });
  const report = `${file}.refused.ndjson`;
  expect(existsSync(report)).toBe(false);

  writeFileSync(file, `${JSON.stringify(rows[0])}\n{"email":"x"}\n{"email":"new@example.com","name":"New"}\n`);
  expect(await admin(`import ${file}`)).toEqual({
    code: 1,
    output: '3 lines: 1 imported, 1 already stored, 1 refused',
    errorOutput: `Refused rows, with reasons: ${report}`,
  });
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ line: 2, email: 'x' });
  expect(statSync(report).mode & 0o777).toBe(0o600);
  expect(await admin(`import ${file}.none`)).toEqual({
    code: 1,
    output: '',
    errorOutput: `${file}.none: there is no such file.`,
  });
});

test('captured e-mails are shown, newest first', async () => {
  expect((await admin('mails')).output).toBe('No e-mails captured.');
  for (const to of ['a@example.com', 'b@example.com'])
    await app.mail.send({ to, subject: `For ${to}`, text: 'A link: https://example.com/x' });
  await vi.waitUntil(async () => (await app.captured.mails()).length === 2, { timeout: 60_000 });
  const { output } = await admin('mails --email b@example.com');
  expect(output).toBe('To: b@example.com\nSubject: For b@example.com\n\nA link: https://example.com/x');
  expect((await admin('mails --limit 1')).output).toContain('b@example.com');
});

test('a missing encryption key, a missing DATABASE_URL and a malformed one are reported in plain words', async () => {
  const { DATABASE_URL } = stores;
  const environments: Record<string, string>[] = [
    { DATABASE_URL },
    { SVC_ENCRYPTION_KEYS },
    { ...stores, DATABASE_URL: 'mysql://x' },
  ];
  const results = await runCommandsInOneProcess(
    environments.map((env) => ({
      folder: project.folder,
      command: 'admin list',
      env,
    })),
  );
  expect(results).toEqual([
    { code: 1, output: 'SVC_ENCRYPTION_KEYS is missing. Set it to the keys that the service runs with.' },
    {
      code: 1,
      output: expect.stringMatching(/^The app has configuration errors:\n {2}- DATABASE_URL is missing: .*$/),
    },
    {
      code: 1,
      output: expect.stringMatching(/^The app has configuration errors:\n {2}- DATABASE_URL is malformed: .*$/),
    },
  ]);
});

test('a database without tables is reported with the command that creates them', async () => {
  const empty = await createTestDatabase();
  const other = createApp(blog, { ...own, DATABASE_URL: empty.databaseUrl });
  onTestFinished(async () => {
    await other.close();
    await empty.drop();
  });
  expect(await runCommand('admin list', other)).toMatchObject({
    code: 1,
    output: '',
    errorOutput: expect.stringContaining(' migrate'),
  });
});
