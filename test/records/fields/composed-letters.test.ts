import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { toNfc } from '../../../src/records/fields/text-rules.ts';
import { startTestApp } from '../../support/app.ts';
import { runCommand } from '../../support/processes/in-process.ts';

const COMPOSED = 'r\u00e9sum\u00e9';
const DECOMPOSED = 're\u0301sume\u0301';
/** Each pair is one text in two forms. */
const PAIRS = [
  [COMPOSED, DECOMPOSED],
  ['\u00c5ngstr\u00f6m', '\u212bngstro\u0308m'],
  ['\u03a9mega', '\u2126mega'],
  ['\u1ec7 Vi\u1ec7t', '\u1eb9\u0302 Vie\u0323\u0302t'],
  ['\ud55c\uae00', '\u1112\u1161\u11ab\u1100\u1173\u11af'],
  ['\u0439\u043e\u0433', '\u0438\u0306\u043e\u0433'],
] as const;

const item = defineResource('item', {
  fields: {
    name: f.string().required().filterable().searchable().sortable(),
    code: f.string().unique().filterable(),
    tags: f.array(f.string()).filterable().searchable(),
    address: f.object({ city: f.string() }),
    size: f.enum(['gro\u00df', 'u\u0308bergro\u00df']).filterable(),
    body: f.text().filterable(['eq', 'ne', 'in', 'nin']).searchable(),
    key: f.text().unique(),
    exact: f.string().normalize(false).unique().filterable(),
    loud: f.string().uppercase(),
    neat: f.text().normalize(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public' },
});
const secret = defineResource('secret', {
  fields: { word: f.string(), body: f.text() },
  policies: { list: 'public', create: 'public' },
  scope: ({ req }) => {
    const [word, body] = [req?.headers['x-word'], req?.headers['x-body']];
    return {
      ...(word === undefined ? {} : { word: decodeURIComponent(String(word)) }),
      ...(body === undefined ? {} : { body: decodeURIComponent(String(body)) }),
    };
  },
});
const { app, call, env } = await startTestApp({ resources: [item, secret] });
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const create = async (values: object) => {
  const { status, body } = await call('POST', '/api/items', values);
  expect([status, body.error]).toEqual([201, undefined]);
  return body.data;
};
const find = async (query: Record<string, string>): Promise<string[]> => {
  const { status, body } = await call('GET', `/api/items?${new URLSearchParams({ ...query, limit: '100' })}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data.map(({ id }: { id: string }) => id);
};

test.each(PAIRS)('%j and %j are one text, stored composed, and found by either form', async (composed, decomposed) => {
  const mark = randomUUID();
  for (const sent of [composed, decomposed]) {
    const name = `${mark}${sent}`;
    const tags = [name, 'x'];
    const created = await create({ name, tags, address: { city: name }, body: name, neat: name });
    const stored = `${mark}${composed}`;
    expect(created).toMatchObject({ name: stored, tags: [stored, 'x'], address: { city: stored }, neat: stored });
    // A text is kept as it was sent.
    expect(created.body).toBe(name);
  }
  for (const form of [composed, decomposed]) {
    const sought = `${mark}${form}`;
    for (const query of [
      { name: sought },
      { 'name[in]': `nothing,${sought}` },
      { tags: sought },
      { 'tags[all]': `x,${sought}` },
      { 'tags[in]': sought },
      { q: sought },
      { q: sought.slice(-form.length - 5), name: sought },
    ] as Record<string, string>[])
      expect([query, await find(query)]).toEqual([query, expect.objectContaining({ length: 2 })]);
    for (const query of [{ 'name[ne]': sought }, { 'name[nin]': sought }] as Record<string, string>[])
      expect(await find({ ...query, q: mark })).toEqual([]);
    expect(await app.service(item).count({ name: sought })).toBe(2);
  }
});

test.each(PAIRS)(
  'a text is stored as it was sent, and %j and %j are found by every form',
  async (composed, decomposed) => {
    const mark = randomUUID();
    const sent = [composed, composed.normalize('NFD')].map((form) => `${mark}${form}`);
    const made = await Promise.all(sent.map((body) => create({ name: 'x', body })));
    expect(made.map(({ body }) => body)).toEqual(sent);
    const other = await create({ name: mark, body: 'other' });
    for (const form of [composed, composed.normalize('NFD'), decomposed]) {
      const body = `${mark}${form}`;
      for (const query of [{ q: body }, { body }, { 'body[in]': `nothing,${body}` }] as Record<string, string>[])
        expect([query, (await find(query)).toSorted()]).toEqual([query, made.map(({ id }) => id).toSorted()]);
      for (const query of [{ 'body[ne]': body }, { 'body[nin]': `nothing,${body}` }] as Record<string, string>[])
        expect(await find({ ...query, q: mark })).toEqual([other.id]);
      expect(await app.service(item).count({ body })).toBe(2);
      expect(await app.service(item).count({ body: { nin: [body] }, name: mark })).toBe(1);
    }
    // The characters themselves are found, even if they are in neither normal form.
    const kept = await create({ name: 'x', body: `${mark}${decomposed}!` });
    expect(await find({ body: `${mark}${decomposed}!` })).toEqual([kept.id]);
    expect(await find({ q: `${mark}${decomposed}!` })).toEqual([kept.id]);
  },
);

test('search ignores the case of composed and decomposed letters in strings, arrays and texts', async () => {
  const mark = randomUUID();
  await create({ name: `${mark} \u00c9t\u00e9`, body: `${mark} E\u0301te\u0301` });
  await create({ name: `${mark} x`, body: `a ${mark} \u00c9t\u00e9`, tags: [`${mark} E\u0301te\u0301`] });
  for (const q of [`${mark} \u00e9T\u00c9`, `${mark} e\u0301TE\u0301`]) expect(await find({ q })).toHaveLength(2);
});

test('a unique string or text refuses the other form of a value, and an upsert and an import find the record by it', async () => {
  const mark = randomUUID();
  for (const field of ['code', 'key'])
    for (const [composed, decomposed] of PAIRS) {
      const { id } = await create({ name: 'first', [field]: `${mark}${decomposed}` });
      const again = await call('POST', '/api/items', { name: 'second', [field]: `${mark}${composed}` });
      expect([again.status, again.body.error.details]).toEqual([409, { [field]: expect.any(String) }]);
      const upserted = await app
        .service(item)
        .upsert(field as 'code', { name: 'third', [field]: `${mark}${composed}` });
      expect(upserted).toMatchObject({ id, name: 'third' });
      const items = [composed, decomposed].map((form) => ({
        op: 'upsert',
        by: field,
        data: { name: form, [field]: `${mark}${form}` },
      }));
      for (const one of items) {
        const { body } = await call('POST', '/api/items/batch', { operations: [one] });
        expect(body.data?.[0]).toMatchObject({ data: { id } });
      }
    }
});

test('normalize(false) keeps and compares the characters exactly', async () => {
  const mark = randomUUID();
  const [one, other] = [
    await create({ name: 'a', exact: `${mark}${COMPOSED}` }),
    await create({ name: 'b', exact: `${mark}${DECOMPOSED}` }),
  ];
  expect(other.exact).toBe(`${mark}${DECOMPOSED}`);
  expect(await find({ exact: `${mark}${COMPOSED}` })).toEqual([one.id]);
  expect(await find({ exact: `${mark}${DECOMPOSED}` })).toEqual([other.id]);
});

test('an enum accepts either form of its values, and a text stays in NFC when its case changes', async () => {
  const created = await create({ name: 'x', size: '\u00fcbergro\u00df', loud: '\u0390' });
  expect(created.size).toBe('u\u0308bergro\u00df');
  expect(created.loud).toBe('\u03aa\u0301');
  expect(await find({ size: '\u00fcbergro\u00df' })).toEqual([created.id]);
  expect(await find({ size: 'u\u0308bergro\u00df' })).toEqual([created.id]);
});

test.each(PAIRS)('scope filters and their evaluation in memory agree about %j and %j', async (composed, decomposed) => {
  const word = `${randomUUID()}${decomposed}`;
  const sought = word.replace(decomposed, composed);
  for (const [header, form] of [composed, decomposed].flatMap((one) =>
    ['x-word', 'x-body'].map((name) => [name, one] as const),
  )) {
    const headers = { [header]: encodeURIComponent(word.replace(decomposed, form)) };
    // The response to a create contains only what the scope admits, in memory.
    const created = await call('POST', '/api/secrets', { word, body: sought }, headers);
    expect([created.status, created.body.error]).toEqual([201, undefined]);
    expect((await call('GET', '/api/secrets', undefined, headers)).body.meta.total).toBeGreaterThan(0);
  }
});

test('cursors continue after texts that are stored in either form', async () => {
  const mark = randomUUID();
  const names = ['a', `${DECOMPOSED}1`, `${DECOMPOSED}2`, `${COMPOSED}3`, 'z'];
  const ids = await Promise.all(names.map(async (name) => (await create({ name: `${mark}${name}` })).id));
  await sql.query(`update items set name = normalize(name, NFD) where id = any($1)`, [ids.slice(1, 3)]);
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams({ sort: 'name', limit: '1', q: mark, ...(after && { after }) });
    const { data, meta } = (await call('GET', `/api/items?${query}`)).body;
    seen.push(...data.map(({ id }: { id: string }) => id));
    after = meta.next;
    if (!after) break;
  }
  expect(seen.toSorted()).toEqual(ids.toSorted());
});

test('belfry normalize stores existing texts in NFC, reports conflicts of unique fields, and changes nothing in a dry run', async () => {
  await sql.query('delete from items');
  const [one, taken, two] = [
    await create({ name: 'one', code: COMPOSED }),
    await create({ name: 'taken', tags: ['a'] }),
    await create({ name: 'two', body: DECOMPOSED, exact: DECOMPOSED }),
  ];
  await sql.query('update items set code = $2 where id = $1', [taken.id, DECOMPOSED]);
  await sql.query('update items set name = $2, tags = $3 where id = $1', [
    two.id,
    DECOMPOSED,
    ['b', DECOMPOSED, COMPOSED],
  ]);
  const before = (await sql.query('select * from items order by id')).rows;
  expect(await runCommand(['normalize', '--dry-run'], app)).toEqual({
    code: 0,
    output: expect.stringContaining('item: 2 records have decomposed letters\n'),
    errorOutput: '',
  });
  expect((await sql.query('select * from items order by id')).rows).toEqual(before);
  expect(await runCommand(['normalize'], app)).toEqual({
    code: 1,
    output: expect.stringContaining('item: 2 records have decomposed letters: 1 record normalized\n'),
    errorOutput: `item ${taken.id}: another record has the same code. Change or delete one of the two, then run this again`,
  });
  const row = (await sql.query('select name, tags, body, exact from items where id = $1', [two.id])).rows[0];
  expect(row).toEqual({ name: COMPOSED, tags: ['b', COMPOSED, COMPOSED], body: DECOMPOSED, exact: DECOMPOSED });
  await call('PATCH', `/api/items/${one.id}`, { code: 'free' });
  expect((await runCommand(['normalize'], app)).code).toBe(0);
  expect((await runCommand(['normalize'], app)).output).toContain('item: 0 records have decomposed letters');
});

test('normalizing equals the function of JavaScript for every character', () => {
  for (let point = 0; point < 0x30000; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    for (const text of [String.fromCodePoint(point), `e${String.fromCodePoint(point)}`])
      if (toNfc(text) !== text.normalize('NFC')) expect(toNfc(text)).toBe(text.normalize('NFC'));
  }
});

test('a text with more than 30 marks on one letter stays as it is, because normalizing it would block the process', async () => {
  const endless = `a${'\u0301'.repeat(200_000)}${'\u0323'.repeat(200_000)}`;
  expect(toNfc(endless)).toBe(endless);
  const name = `a${'\u0301'.repeat(20)}${'\u0323'.repeat(20)}`;
  const made = await call('POST', '/api/items', { name, code: 'endless' });
  expect([made.status, made.body.data.name]).toEqual([201, name]);
  expect((await call('POST', '/api/items', { name: endless.slice(0, 100_000), code: 'x' })).status).toBe(422);
  const short = `a${'\u0301'.repeat(15)}${'\u0323'.repeat(15)}`;
  expect(toNfc(short)).toBe(short.normalize('NFC'));
});
