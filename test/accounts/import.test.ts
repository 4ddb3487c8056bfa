import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { NO_PASSWORD } from '../../src/accounts/passwords/password-hash.ts';
import { defineUser, f, softDelete } from '../../src/index.ts';
import { NOT_A_DATE } from '../../src/records/fields/types/date.ts';
import { startTestApp } from '../support/app.ts';

const secret = 'correct horse battery';
const old = (password: string) => `md5$${createHash('md5').update(password).digest('hex')}`;
const importEvents: string[] = [];
const { app, call, env } = await startTestApp({
  resources: [
    defineUser({
      fields: {
        phone: f.string().unique(),
        iban: f.string().encrypted(),
        level: f.integer().default(1).min(0, 'Must not be negative'),
        password: f
          .password()
          .required()
          .check((value) => /\d/.test(value) || 'Needs a digit'),
        tags: f.array(f.string()),
        notes: f.json(),
      },
    }),
  ],
  settings: {
    auth: { password: { logN: 4, r: 8, p: 1 }, legacyPassword: (hash, password) => hash === old(password) },
  },
  listeners: (app) => app.on('user.created', () => void importEvents.push('user.created')),
});
const accounts = app.accounts!;
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const login = (email: string, password = secret) => call('POST', '/api/auth/login', { email, password });

async function* linesOf(rows: readonly unknown[]) {
  for (const row of rows) yield typeof row === 'string' ? row : JSON.stringify(row);
}

async function run(rows: readonly unknown[]) {
  const refused: object[] = [];
  const progress = await accounts.importUsers(linesOf(rows), { onRefused: (row) => void refused.push(row) });
  return { ...progress, rows: refused };
}

test('imported users keep their id, times, roles and hash, and sign in with their old password', async () => {
  const row = {
    _id: '5f0000000000000000000ABC',
    email: ' Ann@Example.com ',
    name: 'Ann',
    roles: ['user', 'admin'],
    phone: '123',
    iban: 'DE89 3704 0044 0532 0130 00',
    tags: ['a', 'b'],
    createdAt: '2019-05-06T07:08:09Z',
    passwordHash: old(secret),
  };
  expect(await run([row])).toEqual({ lines: 1, imported: 1, existing: 0, refused: 0, rows: [] });
  const { status, body } = await login('ann@example.com');
  expect(status).toBe(200);
  expect(body.data.user).toMatchObject({
    id: '5f0000000000000000000abc',
    email: 'ann@example.com',
    roles: ['user', 'admin'],
    status: 'active',
    level: 1,
    iban: row.iban,
    tags: ['a', 'b'],
    createdAt: '2019-05-06T07:08:09.000Z',
    updatedAt: '2019-05-06T07:08:09.000Z',
  });
  const stored = (await sql.query(`select password, iban from users where phone = '123'`)).rows[0];
  expect([stored.password, stored.iban]).toEqual([
    expect.stringMatching(/^\$scrypt\$/),
    expect.stringMatching(/^v1\./),
  ]);
});

test('a row without a hash creates a user without a password, who can set one only by a reset', async () => {
  await run([{ email: 'ben@example.com', name: 'Ben' }]);
  const rows = await sql.query(`select password from users where email = 'ben@example.com'`);
  expect(rows.rows).toEqual([{ password: NO_PASSWORD }]);
  expect((await login('ben@example.com', NO_PASSWORD)).status).toBe(401);
});

test('each invalid row is refused with its line number and errors, and does not affect other rows', async () => {
  const good = (i: number) => ({ email: `good-${i}@example.com`, name: 'Good', phone: `good-${i}` });
  const result = await run([
    good(1),
    'no json',
    '[]',
    '',
    { name: 'Nobody' },
    { email: 'x', name: 'X' },
    { ...good(2), password: secret },
    { ...good(3), passwordHash: 5 },
    { ...good(4), id: 'short' },
    { ...good(5), level: -1, roles: ['king'] },
    { ...good(6), colour: 'red' },
    { ...good(7), createdAt: 'yesterday' },
    { ...good(8), phone: 'good-1' },
    { ...good(9), name: 'a\0b' },
    { ...good(10), createdAt: '2019-02-30' },
    `{"email":"deep@example.com","name":"Deep","notes":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    good(11),
  ]);
  expect(result).toMatchObject({ lines: 17, imported: 2, existing: 0, refused: 14 });
  expect(result.rows.toSorted((a, b) => (a as { line: number }).line - (b as { line: number }).line)).toEqual([
    { line: 2, errors: { line: 'Must be a JSON object' } },
    { line: 3, errors: { line: 'Must be a JSON object' } },
    { line: 5, errors: { email: 'Is required' } },
    { line: 6, email: 'x', errors: { email: 'Must be a valid e-mail address' } },
    { line: 7, email: good(2).email, errors: { password: 'Must be omitted; pass its hash as passwordHash' } },
    { line: 8, email: good(3).email, errors: { passwordHash: 'Must be a string, or omitted' } },
    { line: 9, email: good(4).email, errors: { id: 'Must be 24 hexadecimal digits, or omitted' } },
    { line: 10, email: good(5).email, errors: { level: 'Must not be negative', 'roles.0': expect.any(String) } },
    { line: 11, email: good(6).email, errors: { colour: 'Unknown field' } },
    { line: 12, email: good(7).email, errors: { createdAt: NOT_A_DATE } },
    {
      line: 13,
      email: good(8).email,
      errors: { row: 'The id or a unique value already belongs to another user' },
    },
    { line: 14, email: good(9).email, errors: { name: 'Must not contain NUL or broken characters' } },
    { line: 15, email: good(10).email, errors: { createdAt: NOT_A_DATE } },
    {
      line: 16,
      email: 'deep@example.com',
      errors: { line: 'Must be nested at most 32 levels deep' },
    },
  ]);
  expect(JSON.stringify(result.rows)).not.toContain(secret);
});

test('an import that was stopped continues when it is run again, and changes no existing user', async () => {
  const rows = Array.from({ length: 2600 }, (_, i) => ({
    email: `many-${i}@example.com`,
    name: `Number ${i}`,
    passwordHash: old(`password ${i}`),
  }));
  const stop = new AbortController();
  const seen: number[] = [];
  const first = await accounts.importUsers(linesOf(rows), {
    signal: stop.signal,
    onProgress({ lines }) {
      seen.push(lines);
      if (lines >= 1000) stop.abort();
    },
  });
  expect(first.imported).toBeGreaterThanOrEqual(1000);
  expect(first.imported).toBeLessThan(2600);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect((await login('many-7@example.com', 'password 7')).status).toBe(200);
  const upgraded = await sql.query(`select password from users where email = 'many-7@example.com'`);
  const second = await run(rows);
  expect(second).toEqual({
    lines: 2600,
    imported: 2600 - first.imported,
    existing: first.imported,
    refused: 0,
    rows: [],
  });
  expect((await sql.query(`select password from users where email = 'many-7@example.com'`)).rows).toEqual(
    upgraded.rows,
  );
  expect((await sql.query(`select 1 from users where email like 'many-%'`)).rowCount).toBe(2600);
});

test('an e-mail that occurs twice in a file creates one account', async () => {
  const row = { email: 'twice@example.com', name: 'Twice' };
  expect(await run([row, { ...row, email: 'TWICE@example.com' }])).toMatchObject({
    imported: 1,
    existing: 1,
    refused: 0,
  });
});

test('a user who is deleted but can be restored is refused and not duplicated', async () => {
  const { app } = await startTestApp({ resources: [defineUser({ softDelete: true })], extensions: [softDelete()] });
  const rows = ['a', 'b', 'c'].map((one) => ({ id: one.repeat(24), email: `${one}@example.com`, name: one }));
  const importAll = async () => {
    const refused: object[] = [];
    const options = { onRefused: (row: object) => void refused.push(row) };
    return { ...(await app.accounts!.importUsers(linesOf(rows), options)), refused };
  };
  expect(await importAll()).toMatchObject({ imported: 3 });
  await app.service('user').delete('b'.repeat(24));
  await app.service('user').delete('c'.repeat(24));
  await app.service('user').restore('c'.repeat(24));
  const row = 'The id belongs to a deleted user who can still be restored';
  expect(await importAll()).toMatchObject({
    ...{ imported: 0, existing: 2 },
    refused: [{ line: 2, email: 'b@example.com', errors: { row } }],
  });
});

test('an import emits no events', async () => {
  await run([{ email: 'silent@example.com', name: 'Silent' }]);
  expect(importEvents).toEqual([]);
  expect((await sql.query(`select 1 from outbox where name = 'user.created'`)).rowCount).toBe(0);
});

test('a line that could not be read is refused', async () => {
  async function* lines() {
    yield { error: 'Is too long' };
  }
  const refused: object[] = [];
  await accounts.importUsers(lines(), { onRefused: (row) => void refused.push(row) });
  expect(refused).toEqual([{ line: 1, errors: { line: 'Is too long' } }]);
});
