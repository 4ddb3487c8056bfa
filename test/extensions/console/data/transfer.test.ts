import { expect, test } from 'vitest';
import { adminConsole, defineResource, defineUser, f } from '../../../../src/index.ts';
import { type ApiResponse, startTestApp } from '../../../support/app.ts';

const product = defineResource('product', {
  fields: {
    sku: f.string().required().unique(),
    title: f.string().required(),
    price: f.number().min(0),
    tags: f.array(f.string()),
    cost: f.number().hidden(),
    pin: f.string().writeOnly(),
    key: f.string().encrypted(),
  },
  policies: { list: 'none' },
});
const { app, url, call } = await startTestApp({ resources: [defineUser(), product], extensions: [adminConsole()] });
const API = `${url}/console/api/records/product`;
const products = app.service('product');
await products.createMany([
  { sku: 'A', title: '=1+1', price: 3, tags: ['x'], pin: 'door word', key: 'sealed text' },
  { sku: 'B', title: 'Plain "text"', price: 5 },
]);

async function send(query: string, body: string, type = 'text/csv') {
  const response = await fetch(`${API}/import?${query}`, { method: 'POST', headers: { 'content-type': type }, body });
  return { status: response.status, body: (await response.json()) as ApiResponse['body'] };
}

test('an export has all records of the list, without secrets, and spreadsheets calculate nothing in it', async () => {
  const response = await fetch(`${API}/export?format=csv&sort=sku`);
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="product.csv"');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const lines = (await response.text()).split('\n');
  expect(lines[0]).toBe('id,sku,title,price,tags,createdAt,updatedAt');
  expect(lines[1]).toMatch(/^[0-9a-f]{24},A,'=1\+1,3,"\[""x""\]",/);
  const plain = await (await fetch(`${API}/export?format=csv&forSpreadsheet=false`)).text();
  expect(plain).toContain(',=1+1,');
  const filtered = await (await fetch(`${API}/export?format=ndjson&price[gte]=4`)).text();
  expect(
    filtered
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ sku: 'B', title: 'Plain "text"' }]);
  expect(plain + filtered).not.toMatch(/door word|sealed text/);
});

test.each([
  'format=xml',
  'format=csv&limit=5',
  'format=csv&as=visitor',
  'format=csv&pin=1',
  'format=csv&nothing=1',
  '',
])('the export %s is refused with an error, not with a file', async (query) => {
  const response = await fetch(`${API}/export?${query}`);
  const { error } = (await response.json()) as { error: { code: string } };
  expect([response.status, error.code]).toEqual([400, 'BAD_REQUEST']);
});

test('a check reports the errors of each row and stores nothing; a write stores the valid rows', async () => {
  const file = 'sku;title;price;tags\nC;Third;7;"[""y""]"\r;;;\nA;Taken;1;\r\nD;;x;\nE\n"open;;;\n';
  const checked = await send('format=csv&mode=check', file);
  expect(checked.status).toBe(200);
  expect(checked.body.data).toMatchObject({ rows: 5, written: 1, rejected: 4 });
  expect(checked.body.data.warnings).toEqual(['The cells are separated by semicolons']);
  expect(
    checked.body.data.errors.map(({ row, errors }: { row: number; errors: object }) => [
      row,
      Object.keys(errors).toSorted(),
    ]),
  ).toEqual([
    [2, ['sku']],
    [3, ['price', 'title']],
    [4, ['row']],
    [5, ['row']],
  ]);
  expect(await products.count()).toBe(2);
  const written = await send('format=csv&mode=write', file);
  expect(written.body.data).toMatchObject({ written: 1, rejected: 4 });
  expect(await products.first({ sku: 'C' })).toMatchObject({ title: 'Third', price: 7, tags: ['y'] });
});

test('an import updates records by a unique field, and takes NDJSON', async () => {
  const lines = '{"sku":"B","title":"Changed"}\n{"sku":"F","title":"New"}\n{"sku":"G","unknown":1}\nno json\n';
  const { body } = await send('format=ndjson&mode=write&upsertBy=sku', lines, 'application/x-ndjson');
  expect(body.data).toMatchObject({ rows: 4, written: 2, rejected: 2 });
  expect(await products.first({ sku: 'B' })).toMatchObject({ title: 'Changed', price: 5 });
});

test.each([
  ['mode=check&format=csv', 'nothing,title\nx,y\n', 422],
  ['mode=check&format=csv', 'sku,sku\nx,y\n', 422],
  ['mode=check&format=csv', '', 422],
  ['mode=check&format=csv', '\ud800', 422],
  ['mode=check&format=csv', 'sku,"title\nx,y', 422],
  ['mode=check&format=csv&upsertBy=sku', 'title\nx\n', 422],
  ['mode=check&format=csv&upsertBy=title', 'title\nx\n', 400],
  ['mode=check&format=csv&upsertBy=__proto__', 'title\nx\n', 400],
  ['mode=maybe&format=csv', 'title\nx\n', 400],
  ['mode=check', 'title\nx\n', 400],
])('the import %s of %j is refused', async (query, body, status) => {
  expect((await send(query, body)).status).toBe(status);
});

test('an import sets no passwords', async () => {
  const response = await fetch(`${url}/console/api/records/user/import?format=csv&mode=write`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: 'name,email,password\nZoe,zoe@example.com,correct horse battery\n',
  });
  const { error } = (await response.json()) as { error: { details: { file: string } } };
  expect([response.status, error.details.file]).toEqual([422, expect.stringContaining('"password" is not a field')]);
});

test('a file that is too large, or of another type, is refused', async () => {
  expect((await send('format=csv&mode=check', 'a', 'application/json')).status).toBe(415);
  const large = `sku,title\n${`${'x'.repeat(1000)},y\n`.repeat(60_000)}`;
  expect((await send('format=csv&mode=check', large)).status).toBe(413);
  const many = `sku,title\n${'x,y,z\n'.repeat(100_001)}`;
  const { status, body } = await send('format=csv&mode=check', many);
  expect([status, body.error.details.file]).toEqual([422, expect.stringContaining('more than 100,000 rows')]);
});

test('the history of a record needs an audit trail', async () => {
  const { id } = (await products.first({ sku: 'A' }))!;
  expect((await call('GET', `/console/api/records/product/${id}/history`)).status).toBe(404);
  expect((await call('GET', '/console/api/app')).body.data.features.audit).toBe(false);
});
