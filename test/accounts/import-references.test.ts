// References of imported users follow the same rules as those of created ones.
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { newId } from '../../src/platform/helpers/ids.ts';
import { startTestApp } from '../support/app.ts';
import { waitUntilBlockedBy } from '../support/database/blocked-by.ts';

const team = defineResource('team', { fields: { name: f.string() } });
const skill = defineResource('skill', { fields: { name: f.string() } });
const user = defineUser({
  fields: {
    team: f.ref('team', { onDelete: 'setNull' }),
    home: f.ref('team', { exists: true }),
    manager: f.ref('user', { onDelete: 'setNull' }),
    note: f.ref('team'),
  },
});
const listing = defineUser({ fields: { skills: f.refs('skill') } });
const { app, env } = await startTestApp({ resources: [user, team] });
const lists = await startTestApp({ resources: [listing, skill] });
const other = new pg.Client(env.DATABASE_URL);
await other.connect();
afterAll(() => other.end());
const GONE = 'f'.repeat(24);

async function run(rows: readonly object[], accounts = app.accounts!) {
  const refused: object[] = [];
  const lines = (async function* () {
    for (const row of rows) yield JSON.stringify({ name: 'Ann', ...row });
  })();
  const progress = await accounts.importUsers(lines, { onRefused: (row) => void refused.push(row) });
  return { ...progress, rows: refused };
}

test('an imported user must refer to existing records, and the errors name the fields', async () => {
  const { id } = await app.service('team').create({});
  const result = await run([
    { email: 'a@example.com', team: id, home: id },
    { email: 'b@example.com', team: GONE, home: GONE },
    { email: 'c@example.com', note: GONE },
  ]);
  expect(result).toMatchObject({ imported: 2, refused: 1 });
  expect(result.rows).toEqual([
    { line: 2, email: 'b@example.com', errors: { team: 'No such team', home: 'No such team' } },
  ]);
});

test('an imported user may refer to themselves and to users in earlier rows, not to later ones', async () => {
  const [first, second, late] = [newId(), newId(), newId()];
  const result = await run([
    { id: first, email: 'd1@example.com' },
    { id: second, email: 'd2@example.com', manager: first },
    { email: 'd3@example.com', manager: second },
    { email: 'd4@example.com', manager: late },
    { id: late, email: 'd5@example.com' },
    ...[newId()].map((id) => ({ id, email: 'd6@example.com', manager: id })),
  ]);
  expect(result).toMatchObject({ lines: 6, imported: 5, refused: 1 });
  expect(result.rows).toEqual([{ line: 4, email: 'd4@example.com', errors: { manager: 'No such user' } }]);
});

test('a user who exists is skipped, whatever the row refers to', async () => {
  expect(await run([{ email: 'e@example.com' }])).toMatchObject({ imported: 1 });
  expect(await run([{ email: 'e@example.com', team: GONE }])).toMatchObject({ existing: 1, refused: 0 });
});

test('a reference that is deleted between its check and the insert refuses only its row', async () => {
  const teams = await app.service('team').createMany([{}, {}]);
  await other.query('begin');
  await other.query('delete from teams where id = $1', [teams[1]!.id]);
  const importing = run(teams.map(({ id }, i) => ({ email: `g${i}@example.com`, team: id })));
  await waitUntilBlockedBy(other);
  await other.query('commit');
  const result = await importing;
  expect(result.rows).toEqual([{ line: 2, email: 'g1@example.com', errors: { team: 'No such team' } }]);
  expect(result.imported).toBe(1);
});

test('ids in a list of references must exist', async () => {
  const { id } = await lists.app.service('skill').create({});
  const rows = [
    { email: 'h1@example.com', skills: [id] },
    { email: 'h2@example.com', skills: [id, GONE] },
  ];
  const result = await run(rows, lists.app.accounts!);
  expect(result.rows).toEqual([{ line: 2, email: 'h2@example.com', errors: { 'skills.1': 'No such skill' } }]);
  expect(result.imported).toBe(1);
});
