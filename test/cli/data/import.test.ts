import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { importRows } from '../../../src/cli/data/import.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { runCommand } from '../../support/processes/in-process.ts';

const product = defineResource('product', {
  fields: {
    sku: f.string().required().unique().filterable(),
    title: f.string().max(40),
    price: f.decimal({ scale: 2 }),
    stock: f.integer().default(3),
    active: f.boolean(),
    tags: f.array(f.string()),
    size: f.object({ width: f.integer() }),
    extra: f.json(),
    soldAt: f.date(),
    rank: f.integer().readOnly(),
  },
  policies: { create: 'editor', update: 'editor' },
});
const hooked = defineResource('hooked', {
  fields: { sku: f.string().required().unique() },
  hooks: { beforeCreate: () => undefined },
});
const counted = defineResource('counted', {
  fields: { sku: f.string().required(), owner: f.ref('user').owner(), before: f.integer() },
  policies: { list: 'owner', create: 'authenticated' },
  hooks: {
    beforeCreate: async (values, { service }) => {
      const { data } = await service('counted').list({}, { as: 'user' });
      return { ...values, before: data.length };
    },
  },
});
const timeless = defineResource('timeless', { fields: { sku: f.string() }, timestamps: false });
const { app, env, person } = await startTestApp({
  resources: [defineUser({ roles: ['user', 'editor'] }), product, hooked, counted, timeless],
});
const folder = mkdtempSync(join(tmpdir(), 'belfry-import-'));
const client = new Client({ connectionString: env.DATABASE_URL! });
await client.connect();
afterAll(async () => {
  await client.end();
  rmSync(folder, { recursive: true });
});
beforeEach(() => client.query('delete from products'));

const products = app.service(product);
const all = async () => (await products.list({ sort: 'id', limit: 1000 })).data;
let files = 0;
function write(content: string | Buffer, name = `file-${++files}.csv`): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}
const run = (...words: string[]) => runCommand(['import', 'product', ...words], app);

test('a CSV file is imported with the type of each field, a byte order mark, CR LF and quoted line breaks', async () => {
  const file = write(
    '\ufeffsku,title,price,stock,active,tags,size,extra,soldAt\r\n' +
      'a1,"Two\r\nlines, ""quoted""",12.50,7,yes,"[""x"",""y""]","{""width"":2}",5,2026-01-02T03:04:05Z\r\n' +
      'a2,Ünïcode,,,false,,,text,\r\n\r\n',
  );
  expect(await run(file)).toEqual({ code: 0, output: '2 rows: 2 imported, 0 rejected', errorOutput: '' });
  const [a1, a2] = await all();
  expect(a1).toMatchObject({
    sku: 'a1',
    title: 'Two\r\nlines, "quoted"',
    price: '12.50',
    stock: 7,
    active: true,
    tags: ['x', 'y'],
    size: { width: 2 },
    extra: 5,
    soldAt: '2026-01-02T03:04:05.000Z',
  });
  expect(a2).toMatchObject({ sku: 'a2', title: 'Ünïcode', stock: 3, active: false, extra: 'text' });
  expect(a2).not.toHaveProperty('price');
  expect((await client.query(`select count(*)::int as n from outbox where name = 'product.created'`)).rows[0].n).toBe(
    2,
  );
});

test('invalid rows are rejected with column and message, and their file can be corrected and imported again', async () => {
  const file = write('sku,title,stock,tags\nb1,One,1,\nb2,Two,many,\n,Three,1,\nb4,Four,1,[x\nb1,Again,1,\nb6,Six\n');
  const { code, output, errorOutput } = await run(file);
  expect([code, output]).toEqual([1, '6 rows: 1 imported, 5 rejected']);
  expect(errorOutput.split('\n')).toEqual([
    'Row 2: stock: Must be a whole number',
    'Row 3: sku: Is required',
    'Row 4: tags: Must be JSON, such as ["a", "b"]',
    'Row 5: sku: Is already taken',
    'Row 6: Has 2 cells, but the header has 4',
    `Rejected rows, with reasons: ${file}.rejected.csv. Correct them, then import this file.`,
  ]);
  const rejected = `${file}.rejected.csv`;
  expect(statSync(rejected).mode & 0o777).toBe(0o600);
  const text = readFileSync(rejected, 'utf8');
  expect(text.split('\n')[0]).toBe('sku,title,stock,tags,_row,_error');
  writeFileSync(rejected, text.replace('many', '2').replace('[x', '[]').replace(',Three', 'b3,Three'));
  const again = await run(rejected);
  expect(again.output).toBe('5 rows: 3 imported, 2 rejected');
  expect((await all()).map(({ sku }) => sku).sort()).toEqual(['b1', 'b2', 'b3', 'b4']);
});

test.each([
  [
    'sku,titel\nx,y\n',
    [],
    'The column "titel" is not a field of product. Did you mean "title"? To leave it out, add --map "titel=".',
  ],
  ['sku,title\nx,y\n', ['--map', 'title=sku'], 'Two columns set "sku". Rename one, or leave it out with --map.'],
  ['sku\nx\n', ['--map', 'name=title'], '--map: the file has no column "name"; columns: sku'],
  ['sku\nx\n', ['--upsert-by', 'title'], '--upsert-by title: it must be a unique field of product. Choose from sku.'],
  ['title\nx\n', ['--upsert-by', 'sku'], '--upsert-by sku: the file has no such column.'],
  ['', [], 'The file is empty. Its first line must name the columns.'],
  [
    'sku,"title\nx,y\n',
    [],
    'The first line must name the columns. It has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice.',
  ],
  [Buffer.from('sku\na\nb\xe9\n', 'latin1'), [], 'Line 3 is not UTF-8. Save the file as UTF-8, then import it again.'],
  [Buffer.from('\ufeffsku\na\n', 'utf16le'), [], 'The file is UTF-16. Save it as UTF-8, then import it again.'],
])('an unusable file or option stops the import: %j %j', async (content, options, message) => {
  const { code, errorOutput } = await run(write(content), ...options);
  expect([code, errorOutput]).toEqual([1, message]);
  expect(await all()).toEqual([]);
});

test('columns can be renamed and left out, and ids are kept on request', async () => {
  const id = 'a'.repeat(24);
  const file = write(`id,Artikel,note,createdAt\n${id},c1,x,2020-01-01\nnonsense,c2,y,\n`);
  const options = ['--map', 'Artikel=sku', '--map', 'note='];
  const { output, errorOutput } = await run(file, ...options, '--keep-ids');
  expect(output).toBe('2 rows: 1 imported, 1 rejected');
  expect(errorOutput).toContain('Row 2: id: Must be an id of 24 hexadecimal characters');
  expect(await products.read(id)).toMatchObject({ sku: 'c1' });
  expect((await run(file, ...options, '--dry-run')).output).toBe(
    '2 rows: 1 valid (dry run: nothing was stored), 1 rejected',
  );
});

test('rows update the records with the same unique value, and an empty cell clears a value', async () => {
  await products.createMany([{ sku: 'd1', title: 'Old', stock: 9 }]);
  const { output } = await run(write('sku,title,stock\nd1,,5\nd2,New,\n'), '--upsert-by', 'sku');
  expect(output).toBe('2 rows: 2 imported, 0 rejected');
  const [d1, d2] = await all();
  expect(d1).toMatchObject({ sku: 'd1', stock: 5 });
  expect(d1).not.toHaveProperty('title');
  expect(d2).toMatchObject({ sku: 'd2', title: 'New', stock: 3 });
});

test('a dry run stores nothing and finds the errors', async () => {
  const { code, output } = await run(
    write('sku,stock\ne1,1\ne2,x\n'),
    '--dry-run',
    '--rejects',
    join(folder, 'dry.csv'),
  );
  expect([code, output]).toEqual([1, '2 rows: 1 valid (dry run: nothing was stored), 1 rejected']);
  expect(await all()).toEqual([]);
});

test('the policies and field rules of a user apply', async () => {
  const [ada, bob] = [await person('Ada', ['user', 'editor']), await person('Bob')];
  const file = write('sku,rank\nf1,\nf2,5\n');
  expect((await run(file, '--user', ada.id)).errorOutput).toContain('Row 2: rank: Is read-only');
  expect((await run(file, '--user', bob.id)).errorOutput).toContain('Row 1: You are not allowed to do this');
  expect((await all()).map(({ sku }) => sku)).toEqual(['f1']);
  expect((await run(file, '--user', 'f'.repeat(24))).errorOutput).toContain('there is no user with this id');
});

test('hooks act as the user for whom rows are imported', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const file = write('sku\ng1\ng2\n');
  for (const user of [bob, ada])
    expect(await runCommand(['import', 'counted', file, '--user', user.id], app)).toMatchObject({ code: 0 });
  const { data } = await app.service(counted).list({ sort: 'id' });
  expect(data.map(({ owner, before }) => [owner, before])).toEqual([
    [bob.id, 0],
    [bob.id, 1],
    [ada.id, 0],
    [ada.id, 1],
  ]);
});

test('a row with a stray quote is rejected as it is, rows of empty cells are left out, and line ends may be mixed', async () => {
  const file = write('sku,title,stock\rq1,ok,1\nq2,a "loose" quote,2\r\nq3,"open,3\nq4,ok,4,5\r,,\nq5,"ok",5');
  const { code, output, errorOutput } = await run(file);
  expect([code, output]).toEqual([1, '5 rows: 2 imported, 3 rejected']);
  expect(errorOutput).toContain('Row 2: Has a stray quote. Quotes must enclose a whole cell');
  expect((await all()).map(({ sku }) => sku)).toEqual(['q1', 'q5']);
  const [, second, third, fourth] = readFileSync(`${file}.rejected.csv`, 'utf8').split('\n');
  expect(second).toMatch(/^q2,"a ""loose"" quote",2,2,"?Has a stray/);
  expect(third).toMatch(/^q3,"""open",3,3,"?Has a stray/);
  expect(fourth).toBe('q4,ok,4,4,"Has 4 cells, but the header has 3",5');
});

test('files with semicolons or tabs are imported, which is said, and --delimiter names others', async () => {
  const german = await run(write('sep=;\r\nsku;title\r\nd1;"a;b"\r\n'));
  expect(german).toEqual({ code: 0, output: '1 row: 1 imported, 0 rejected', errorOutput: '' });
  const file = write('sku;title\nd2;x\nd3;y;z\n');
  const detected = await run(file);
  expect(detected).toMatchObject({ code: 1, output: '2 rows: 1 imported, 1 rejected' });
  expect(detected.errorOutput).toContain('The cells are separated by semicolons.');
  expect(readFileSync(`${file}.rejected.csv`, 'utf8')).toMatch(/^sku;title;_row;_error\nd3;y;2;Has 3 cells.*;z\n$/);
  expect((await run(write('sku\ttitle\nd4\tx\n', 'tabs.tsv'))).errorOutput).toBe('The cells are separated by tabs.');
  for (const [name, sku] of [
    ['|', 'd5'],
    ['pipe', 'd6'],
    ['PIPE', 'd7'],
  ] as const)
    expect((await run(write(`sku|title\n${sku}|x\n`), '--delimiter', name)).code).toBe(0);
  const stored = (await all()).map(({ sku, title }) => `${sku} ${title}`);
  expect(stored).toEqual(['d1 a;b', 'd2 x', 'd4 x', 'd5 x', 'd6 x', 'd7 x']);
  for (const delimiter of ['a', '"', ';;', '5'])
    expect((await run(file, '--delimiter', delimiter)).errorOutput).toContain('comma, semicolon, tab, pipe');
});

test('numbers are decimal digits, or as an export writes very large and small ones', async () => {
  const cells = ['0x1F', '1e3', '0b11', 'Infinity', '1_000', '１２', '5', ' +7 ', '-0', '1e+2', '.'];
  const file = write(`sku,stock\n${cells.map((cell, i) => `n${i},${cell}\n`).join('')}`);
  const { output, errorOutput } = await run(file);
  expect(output).toBe('11 rows: 4 imported, 7 rejected');
  expect(errorOutput).toContain('Row 1: stock: Must be');
  expect((await all()).map(({ stock }) => stock)).toEqual([5, 7, 0, 100]);
});

test('dates are read as databases print them, and as the error says', async () => {
  const dates = {
    '2025-01-31': '2025-01-31T00:00:00.000Z',
    '2025-01-31 12:34': '2025-01-31T12:34:00.000Z',
    '2025-01-31 12:34:56': '2025-01-31T12:34:56.000Z',
    '2025-01-31 12:34:56.789012': '2025-01-31T12:34:56.789Z',
    '2025-01-31 12:34:56+00': '2025-01-31T12:34:56.000Z',
    '2025-01-31 12:34:56.5+0530': '2025-01-31T07:04:56.500Z',
    '2025-01-31 12:34:56.7890000 +01:00': '2025-01-31T11:34:56.789Z',
    '2025-01-31 12:34:56 UTC': '2025-01-31T12:34:56.000Z',
    '2025-01-31T12:34:56.789+0000': '2025-01-31T12:34:56.789Z',
    '2025-01-31t12:34:56z': '2025-01-31T12:34:56.000Z',
    ' 1738326896789 ': '2025-01-31T12:34:56.789Z',
  };
  const rowsOf = (cells: readonly string[]) => `sku,soldAt\n${cells.map((cell, i) => `d${i},${cell}\n`).join('')}`;
  expect((await run(write(rowsOf(Object.keys(dates))))).output).toBe('11 rows: 11 imported, 0 rejected');
  expect((await all()).map(({ soldAt }) => soldAt)).toEqual(Object.values(dates));
  const objects = '{"sku":"o1","soldAt":"2025-01-31 12:34:56+00"}\n{"sku":"o2","soldAt":1738326896789}\n';
  expect((await run(write(objects, 'dates.ndjson'))).output).toBe('2 rows: 2 imported, 0 rejected');
  const wrong = ['20250131', '1738326896', '31.01.2025', '2025-02-30 10:00', '2025-01-31 25:00', '2025-01-31 10:00+1'];
  const refused = await run(write(rowsOf(wrong)));
  expect(refused.output).toBe('6 rows: 0 imported, 6 rejected');
  expect(refused.errorOutput).toContain('Row 6: soldAt: Must be a date: an ISO 8601 string or epoch milliseconds');
});

test('an NDJSON file is imported, and its rejected rows can be imported again', async () => {
  const file = write('{"sku":"g1","tags":["x"]}\n\n{"sku":"g2","stok":1}\nnonsense\n', 'rows.ndjson');
  const { output, errorOutput } = await run(file);
  expect(output).toBe('3 rows: 1 imported, 2 rejected');
  expect(errorOutput).toContain('Row 2: stok: The column "stok" is not a field of product. Did you mean "stock"?');
  expect(errorOutput).toContain('Row 3: Is not valid JSON');
  const rejected = readFileSync(`${file}.rejected.ndjson`, 'utf8').split('\n')[0]!;
  expect((await run(write(rejected.replace('stok', 'stock'), 'again.ndjson'))).output).toBe(
    '1 row: 1 imported, 0 rejected',
  );
});

test('a large file is imported in steps, and --skip continues after a stop', async () => {
  const rows = Array.from({ length: 1700 }, (_, i) => `h${i},Title ${i}`);
  const file = write(`sku,title\n${rows.join('\n')}\n`);
  expect((await run(file, '--skip', '700')).output).toBe('1,000 rows: 1,000 imported, 0 rejected');
  expect(await products.count()).toBe(1000);
  expect((await products.list({ sort: 'id', limit: 1 })).data[0]!.sku).toBe('h700');
});

test('an import that is stopped has stored whole steps, and says how to continue', async () => {
  const file = write(`sku\n${Array.from({ length: 1200 }, (_, i) => `i${i}`).join('\n')}\n`);
  const stop = new AbortController();
  app.on('product.created', () => stop.abort());
  const output: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line) => void output.push(line));
  onTestFinished(() => log.mockRestore());
  const options = { format: 'csv' as const, map: new Map<string, string>(), skip: 0 };
  await importRows(app as never, 'product', file, options, stop.signal);
  expect(output).toEqual([
    '500 rows: 500 imported, 0 rejected',
    'Stopped. To continue, run the command again with --skip 500.',
  ]);
  expect(await products.count()).toBe(500);
  log.mockRestore();
  expect((await run(file, '--skip', '500')).output).toBe('700 rows: 700 imported, 0 rejected');
});

test('an unknown resource and a file without a known format are errors', async () => {
  const file = write('sku\n', 'file.txt');
  expect((await runCommand(['import', 'produkt', file, '--format', 'csv'], app)).errorOutput).toBe(
    'There is no resource "produkt". Did you mean "product"?',
  );
  expect((await run(file)).errorOutput).toBe(`${file}: name its format with --format csv or --format ndjson.`);
  expect((await run(join(folder, 'none.csv'))).errorOutput).toContain('there is no such file');
});

test('with --keep-times, created records have the times of the file, and invalid times reject a row', async () => {
  const file = write(
    'sku,born,updatedAt\n' +
      't1,2020-01-02,2021-01-02T03:04:05.678Z\n' +
      't2,2020-01-02,\n' +
      't3,,1600000000000\n' +
      't4,,\n' +
      't5,2020-02-30,\n' +
      't6,2021-01-01,2020-01-01\n' +
      't7,9999-01-01,\n' +
      't8,20240131,\n',
  );
  const started = new Date().toISOString();
  for (const resource of ['product', 'hooked']) {
    const command = ['import', resource, file, '--map', 'born=createdAt', '--keep-times'];
    const { output, errorOutput } = await runCommand(command, app);
    expect(output).toBe('8 rows: 4 imported, 4 rejected');
    expect(errorOutput).toContain('Row 5: createdAt: Must be a date');
    expect(errorOutput).toContain('Row 6: updatedAt: Must not be before createdAt');
    expect(errorOutput).toContain('Row 7: createdAt: Must not be in the future');
    // Eight digits are a day without dashes, not a time on the first day of 1970.
    expect(errorOutput).toContain('Row 8: createdAt: Must be a date');
    const { data } = await app.service(resource as 'product').list({ limit: 10 });
    const times = Object.fromEntries(data.map(({ sku, createdAt, updatedAt }) => [sku, [createdAt, updatedAt]]));
    expect(times).toMatchObject({
      t1: ['2020-01-02T00:00:00.000Z', '2021-01-02T03:04:05.678Z'],
      t2: ['2020-01-02T00:00:00.000Z', '2020-01-02T00:00:00.000Z'],
      t3: ['2020-09-13T12:26:40.000Z', '2020-09-13T12:26:40.000Z'],
    });
    expect(times.t4!.every((time) => time >= started)).toBe(true);
  }
});

test('with --keep-times, an upsert keeps when a stored record was created, and the event of a new one has its times', async () => {
  const { createdAt } = await products.create({ sku: 'k1' });
  const file = write(
    '{"sku":"k1","title":"new","createdAt":"2020-01-01"}\n{"sku":"k2","createdAt":"2020-01-01"}\n',
    'kept.ndjson',
  );
  await client.query('delete from outbox');
  const { output } = await run(file, '--upsert-by', 'sku', '--keep-times');
  expect(output).toBe('2 rows: 2 imported, 0 rejected');
  const [k1, k2] = await all();
  expect([k1!.createdAt, k2!.createdAt]).toEqual([createdAt, '2020-01-01T00:00:00.000Z']);
  expect(k1!.updatedAt > createdAt).toBe(true);
  const { rows } = await client.query(
    `select payload->'record'->>'created_at' as time from outbox where record_id = $1`,
    [k2!.id],
  );
  expect(rows).toEqual([{ time: expect.stringMatching(/^2020-01-01/) }]);
});

test('a record with times before 1970 is updated under If-Match like any other', async () => {
  expect((await run(write('sku,createdAt\nv1,1969-12-31\nv2,0001-01-01\n'), '--keep-times')).code).toBe(0);
  const editor = await person('historian', ['user', 'editor']);
  for (const { id, updatedAt } of await all()) {
    const path = `/api/products/${id}`;
    const tag = (await editor.call('GET', path)).headers.get('etag')!;
    const update = (ifMatch: string) => editor.call('PATCH', path, { title: 'old' }, { 'if-match': ifMatch });
    // No version, that of a time before the first year, and another form of a version.
    for (const other of ['"00-x"', '"0zzzzzzzzzzz-x"', tag.replace('"0', '"00')])
      expect((await update(other)).status).toBe(412);
    expect((await update(tag)).status).toBe(200);
    expect((await update(tag)).status).toBe(412);
    const stale = products.update(id, { title: 'x' }, { ifMatch: updatedAt });
    await expect(stale).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  }
});

test('--keep-times is refused for a resource without times', async () => {
  const { code, errorOutput } = await runCommand(['import', 'timeless', write('sku\nx\n'), '--keep-times'], app);
  expect([code, errorOutput]).toEqual([1, expect.stringContaining('records of timeless have no createdAt')]);
});
