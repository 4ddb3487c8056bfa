import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { runCommand } from '../../support/processes/in-process.ts';

const note = defineResource('note', {
  fields: {
    title: f.string().required().unique().filterable(),
    points: f.integer().filterable(),
    tags: f.array(f.string()),
    extra: f.json(),
    secret: f.string().visibleTo('owner'),
    internal: f.string().hidden(),
    owner: f.ref('user').owner().populate(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const { app, person } = await startTestApp({ resources: [defineUser(), note] });
const folder = mkdtempSync(join(tmpdir(), 'belfry-export-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [ada, bob] = [await person('Ada'), await person('Bob')];
await app.service(note).createMany([
  { title: 'One', points: -1, tags: ['a', 'b,c'], extra: '5', secret: 's1', internal: 'i', owner: ada.id },
  { title: '=cmd()', points: 2, extra: { a: 1 }, secret: 's2', owner: bob.id },
  { title: 'Three "quoted"\nlines', points: 3, owner: ada.id },
]);
const run = (...words: string[]) => runCommand(['export', 'note', ...words], app);
const out = (name: string) => join(folder, name);

test('records are exported as CSV without hidden fields, to a file that only its owner can read', async () => {
  const file = out('all.csv');
  expect(await run('--out', file)).toEqual({ code: 0, output: '', errorOutput: '3 records exported' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  expect(text.split('\n')[0]).toBe('id,title,points,tags,extra,secret,owner,createdAt,updatedAt');
  expect(text).toContain(`,One,-1,"[""a"",""b,c""]","""5""",s1,${ada.id},`);
  expect(text).toContain('"Three ""quoted""\nlines"');
});

test('fields and filters limit an export', async () => {
  const file = out('some.csv');
  await run(
    '--out',
    file,
    '--fields',
    'title,points',
    '--where',
    'points[gte]=2',
    '--where',
    'title[ne]=x',
    '--for-spreadsheet',
  );
  expect(readFileSync(file, 'utf8')).toBe(`\ufefftitle,points\n'=cmd(),2\n"Three ""quoted""\nlines",3\n`);
  expect((await run('--fields', 'internal')).errorOutput).toContain('--fields: "internal" cannot be exported');
});

test('a refused filter leaves the file of an earlier export as it was', async () => {
  const file = out('kept.csv');
  await run('--out', file, '--fields', 'title', '--where', 'points=-1');
  expect((await run('--where', 'titel=x', '--out', file)).errorOutput).toContain('Unknown field "titel"');
  expect(readFileSync(file, 'utf8')).toBe('title\nOne\n');
});

test('an export for a user has only the fields that the user may see', async () => {
  const file = out('bob.ndjson');
  await run('--out', file, '--user', bob.id);
  const rows = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.map(({ secret }) => secret)).toEqual([undefined, 's2', undefined]);
  expect(rows[0]).toMatchObject({ title: 'One', tags: ['a', 'b,c'], extra: '5', owner: ada.id });
});

test('passwords are never exported', async () => {
  const file = out('users.csv');
  await runCommand(['export', 'user', '--out', file], app);
  expect(readFileSync(file, 'utf8')).not.toContain('password');
});

test('an exported file can be imported again without changes', async () => {
  for (const format of ['csv', 'ndjson']) {
    const [before, after] = [out(`before.${format}`), out(`after.${format}`)];
    await run('--out', before);
    await app.service(note).deleteMany({});
    const imported = await runCommand(['import', 'note', before, '--keep-ids'], app);
    expect(imported.output).toBe('3 rows: 3 imported, 0 rejected');
    await run('--out', after);
    const withoutTimes = (file: string) => readFileSync(file, 'utf8').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '');
    expect(withoutTimes(after)).toBe(withoutTimes(before));
  }
});
