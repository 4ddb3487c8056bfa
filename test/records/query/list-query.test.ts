import { describe, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import type { QueryViewer } from '../../../src/records/query/filter.ts';
import { parseListQuery, parseReadQuery, type RawQuery } from '../../../src/records/query/parse.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';

const open = { list: 'public', read: 'public' } as const;
const [user, note, kept, counted, hiddenCount, prose] = compileResources(
  [
    defineUser(),
    defineResource('note', {
      fields: {
        title: f.string().filterable().sortable().searchable(),
        views: f.integer().filterable().sortable(),
        tags: f.array(f.string()).filterable(),
        plain: f.string(),
        author: f.ref('user').owner(),
        private: f.string().visibleTo('owner').filterable().sortable().searchable(),
        pay: f.integer().visibleTo('admin').filterable().sortable(),
        secret: f.string().hidden(),
      },
      policies: open,
    }),
    defineResource('kept', { fields: { name: f.string().filterable() }, policies: open, softDelete: true }),
    defineResource('counted', { fields: { count: f.integer().filterable() }, policies: open, timestamps: false }),
    defineResource('hiddenCount', { fields: { count: f.integer() }, policies: open }),
    defineResource('prose', {
      fields: {
        long: f.text().index(),
        words: f.string().searchable(),
        once: f.text().unique(),
        prefix: f.text().sortable(),
        data: f.json(),
        sealed: f.string().encrypted(),
      },
      policies: open,
    }),
  ],
  'reject',
);
const limits = { defaultLimit: 20, maxLimit: 50 };
const ID = 'a'.repeat(24);
const ann = { id: ID, roles: ['user'] };
const getResource = () => note!;

const list = (query: RawQuery, viewer: QueryViewer = undefined, resource = note!) =>
  parseListQuery(resource, query, viewer, { limits, getResource, byCode: viewer === 'system' });
function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ code: 'BAD_REQUEST' });
    return (error as Error).message;
  }
  return '';
}

describe('a list without parameters', () => {
  test('is the first page, newest first, with the total', () => {
    expect(list({})).toMatchObject({
      page: 1,
      limit: 20,
      count: 'exact',
      conditions: [],
      cursorCarriesValues: true,
      slow: false,
    });
    expect(list({}).sort.map(({ field, descending }) => [field, descending])).toEqual([
      ['createdAt', true],
      ['id', true],
    ]);
    for (const name of ['after', 'fields', 'deleted'] as const) expect(list({})[name]).toBeUndefined();
  });

  test('returns at most the maximum limit, even if the default limit is higher', () => {
    const options = { limits: { defaultLimit: 100, maxLimit: 50 }, getResource, byCode: false };
    expect(parseListQuery(note!, {}, undefined, options).limit).toBe(50);
  });
});

describe('page and limit', () => {
  test.each<[RawQuery, object]>([
    [
      { page: '1', limit: '1' },
      { page: 1, limit: 1 },
    ],
    [
      { page: '007', limit: '50' },
      { page: 7, limit: 50 },
    ],
    [{ page: '1000000000' }, { page: 1e9, limit: 20 }],
    [{ count: 'none' }, { count: 'none' }],
    [{ count: 'capped' }, { count: 'capped' }],
    [{ count: 'exact' }, { count: 'exact' }],
  ])('are parsed: %j', (query, expected) => {
    expect(list(query)).toMatchObject(expected);
  });

  test.each<[RawQuery, string]>([
    [{ page: '0' }, 'The query parameter "page" must be a whole number from 1 to 1000000000'],
    [{ page: '1000000001' }, 'The query parameter "page" must be a whole number from 1 to 1000000000'],
    [{ page: '0000000000000001' }, 'The query parameter "page" must be a whole number from 1 to 1000000000'],
    [{ limit: '51' }, 'The query parameter "limit" must be a whole number from 1 to 50'],
    [{ limit: '' }, 'The query parameter "limit" must be a whole number from 1 to 50'],
    [{ limit: ['1', '2'] }, 'The query parameter "limit" must be given once'],
    [{ sort: 'a\0' }, 'The query parameter "sort" contains characters that are not allowed'],
    [{ count: 'all' }, 'The query parameter "count" can only be "exact", "capped" or "none"'],
    [{ after: 'x', page: '1' }, 'The query parameters "after" and "page" cannot be combined'],
    [{ deleted: 'only' }, 'Unknown query parameter "deleted"; filterable fields: title, views, tags, private, pay'],
  ])('are refused: %j, %s', (query, message) => {
    expect(refusal(() => list(query))).toBe(message);
  });
});

describe('a list that may take a long time', () => {
  test.each<[string, RawQuery, QueryViewer, boolean]>([
    ['a search', { q: 'a' }, undefined, true],
    ['an empty search', { q: '' }, undefined, false],
    ['a page after 10,000 records', { page: '501' }, undefined, false],
    ['a page after more than 10,000 records', { page: '502' }, undefined, true],
    ['a page after 10,001 records', { page: '10002', limit: '1' }, undefined, true],
    ['a filter of a client', { 'title[eq]': 'a' }, undefined, false],
    ['an order of a client', { sort: '-views' }, undefined, false],
    ['a filter of code by a field without an index', { plain: 'a' }, 'system', true],
    ['a filter of code by a field with an index', { title: 'a' }, 'system', false],
    ['a filter of code by an array with an index', { tags: 'a' }, 'system', false],
    ['filters of code, one with an index', { plain: 'a', 'views[gt]': 1 }, 'system', false],
    ['a filter of code by the id', { id: ID, plain: 'a' }, 'system', false],
    ['no filter of code', {}, 'system', false],
    ['an order of code by a field without an index', { sort: 'plain' }, 'system', true],
  ])('%s: %j', (_, query, viewer, slow) => {
    expect(list(query, viewer).slow).toBe(slow);
  });

  test.each<[string, boolean]>([
    ['long', false],
    ['words', true],
    ['once', true],
    ['prefix', true],
  ])('a filter of code counts as fast only if an index supports it: %s', (name, slow) => {
    expect(list({ [name]: 'a' }, 'system', prose!).slow).toBe(slow);
  });

  test('always counts as slow for deleted records, since they have no index for lists', () => {
    for (const deleted of ['only', 'with']) {
      expect(list({ deleted }, undefined, kept!)).toMatchObject({ deleted, slow: true });
    }
    expect(list({ name: 'x' }, undefined, kept!)).toMatchObject({ deleted: undefined, slow: false });
    expect(refusal(() => list({ deleted: 'all' }, undefined, kept!))).toBe(
      'The query parameter "deleted" can only be "only" or "with"',
    );
  });
});

describe('the parameter count', () => {
  test('is a filter if a field named count is filterable', () => {
    expect(list({ count: '3' }, undefined, counted!)).toMatchObject({
      count: 'exact',
      conditions: [{ field: 'count', op: 'eq', value: 3 }],
    });
  });

  test('is a filter only in code if clients may not filter by the field named count, unless its value is "none"', () => {
    expect(refusal(() => list({ count: '3' }, undefined, hiddenCount!))).toContain(
      'can only be "exact", "capped" or "none"',
    );
    expect(list({ count: 3 }, 'system', hiddenCount!)).toMatchObject({
      count: 'exact',
      conditions: [{ field: 'count', op: 'eq', value: 3 }],
    });
    expect(list({ count: 'none' }, 'system', hiddenCount!)).toMatchObject({ count: 'none', conditions: [] });
    expect(refusal(() => list({ count: 3 }, 'system'))).toContain('can only be "exact", "capped" or "none"');
  });
});

describe('filters', () => {
  test('accept up to 1,000 values, not counting empty texts', () => {
    const many = (count: number) => ({ 'views[in]': Array.from({ length: count }, (_, i) => i).join() });
    expect(list(many(1000)).conditions).toMatchObject([{ op: 'in', value: { length: 1000 } }]);
    expect(refusal(() => list(many(1001)))).toBe('The query parameter "views[in]" takes at most 1000 values');
    expect(list({ 'views[in]': ',1,,2,' }).conditions).toEqual([{ field: 'views', op: 'in', value: [1, 2] }]);
    expect(refusal(() => list({ 'views[in]': ',' }))).toBe('The query parameter "views[in]" needs at least one value');
  });

  test.each<[RawQuery, unknown]>([
    [{ 'views[exists]': 'true' }, true],
    [{ 'views[exists]': 'false' }, false],
    [{ views: '1' }, 1],
    [{ 'title[eq]': ' a ' }, 'a'],
  ])('%j compares with %j', (query, value) => {
    expect(list(query).conditions).toMatchObject([{ value }]);
  });

  test.each<[RawQuery, string]>([
    [{ 'views[exists]': '1' }, 'The query parameter "views[exists]" must be true or false'],
    [{ views: 'x' }, 'The query parameter "views" has a value of the wrong type'],
    [
      { 'title[like]': 'x' },
      'The field "title" cannot be filtered with "like"; its operators: eq, ne, in, nin, exists',
    ],
    [{ secret: 'x' }, 'Unknown query parameter "secret"; filterable fields: title, views, tags, private, pay'],
    [{ 'title[in': 'x' }, 'Unknown query parameter "title[in"; filterable fields: title, views, tags, private, pay'],
    [{ 'title[]': 'x' }, 'Unknown query parameter "title[]"; filterable fields: title, views, tags, private, pay'],
    [{ views: '1', 'views[eq]': '1' }, 'The query parameter "views" must be given once'],
  ])('%j is refused: %s', (query, message) => {
    expect(refusal(() => list(query))).toBe(message);
  });

  test('by a restricted field match only records on which the viewer sees the field', () => {
    const comparison = { field: 'private', op: 'eq', value: 'x' };
    const own = { field: 'author', op: 'eq', value: ID };
    expect(list({ private: 'x' }).conditions).toEqual([{ never: true }, comparison]);
    expect(list({ private: 'x' }, ann).conditions).toEqual([own, comparison]);
    expect(list({ private: 'x' }, 'system').conditions).toEqual([comparison]);
    expect(list({ pay: '1' }, ann).conditions).toEqual([{ never: true }, { field: 'pay', op: 'eq', value: 1 }]);
    expect(list({ pay: '1' }, { id: ID, roles: ['admin'] }).conditions).toHaveLength(1);
  });
});

describe('filters of code', () => {
  const byCode = (query: RawQuery, viewer: QueryViewer = 'system', resource = note!) =>
    parseListQuery(resource, query, viewer, { limits, getResource, byCode: true }).conditions;

  test.each<[RawQuery, unknown]>([
    [{ title: 5 }, { field: 'title', op: 'eq', value: '5' }],
    [{ title: true }, { field: 'title', op: 'eq', value: 'true' }],
    [{ title: { in: ['a', 5] } }, { field: 'title', op: 'in', value: ['a', '5'] }],
    [{ 'title[nin]': 'a,b' }, { field: 'title', op: 'nin', value: ['a', 'b'] }],
    [{ views: null }, { field: 'views', op: 'exists', value: false }],
    [{ views: { ne: null } }, { field: 'views', op: 'exists', value: true }],
    [{ views: { exists: 'true' } }, { field: 'views', op: 'exists', value: true }],
    [{ views: { exists: 'false' } }, { field: 'views', op: 'exists', value: false }],
    [{ createdAt: new Date(0) }, { field: 'createdAt', op: 'eq', value: '1970-01-01T00:00:00.000Z' }],
  ])('%j compares in the format in which the field is stored', (query, condition) => {
    expect(byCode(query)).toEqual([condition]);
  });

  test.each<[RawQuery, string]>([
    [{ title: new Date(0) }, 'The filter "title" has a value of the wrong type'],
    [{ views: { gt: null } }, 'The filter "views" has a value of the wrong type'],
    [{ views: { exists: null } }, 'The operator "exists" of the filter "views" takes true or false'],
    [{ 'title[in': 'x' }, 'Unknown field "title[in" in a filter; filterable fields: '],
  ])('%j is refused: %s', (query, message) => {
    expect(refusal(() => byCode(query))).toContain(message);
  });

  test('accept up to 1,000 values', () => {
    expect(byCode({ views: Array(1000).fill(1) })).toMatchObject([{ op: 'in', value: { length: 1000 } }]);
    expect(refusal(() => byCode({ views: Array(1001).fill(1) }))).toBe('The filter "views" takes at most 1000 values');
  });

  test('of the system can use every field except passwords', () => {
    const fields = user!.fields.map(({ name }) => name).filter((name) => name !== 'password');
    for (const name of ['password', 'nope']) {
      expect(refusal(() => byCode({ [name]: 'x' }, 'system', user!))).toBe(
        `Unknown field "${name}" in a filter; filterable fields: id, ${fields.join(', ')}`,
      );
    }
  });

  test('of a user are limited to fields that clients may filter by, on records where the user sees them', () => {
    expect(byCode({ private: 'x' }, ann)).toEqual([
      { field: 'author', op: 'eq', value: ID },
      { field: 'private', op: 'eq', value: 'x' },
    ]);
    for (const name of ['plain', 'secret', 'nope']) {
      expect(refusal(() => byCode({ [name]: 'x' }, ann))).toContain(`Unknown query parameter "${name}"`);
    }
  });

  test.each([undefined, { gt: undefined }, [1, undefined], { in: [undefined] }])(
    'are refused if undefined: %j',
    (views) => {
      expect(() => byCode({ views })).toThrow(TypeError);
    },
  );
});

describe('a search', () => {
  test('covers every searchable field where the viewer sees it, and accepts 500 characters', () => {
    const [title, hidden] = [
      { field: 'title', contains: 'x' },
      { field: 'private', contains: 'x' },
    ];
    expect(list({ q: 'x' }).conditions).toEqual([{ any: [title, { every: [{ never: true }, hidden] }] }]);
    expect(list({ q: 'x' }, 'system').conditions).toEqual([{ any: [title, hidden] }]);
    expect(list({ q: '' }).conditions).toEqual([]);
    expect(list({ q: 'x'.repeat(500) }).conditions).toHaveLength(1);
    expect(refusal(() => list({ q: 'x'.repeat(501) }))).toBe('The query parameter "q" takes at most 500 characters');
    expect(refusal(() => list({ q: 'x' }, undefined, kept!))).toContain('this resource is not searchable');
  });
});

describe('a sort order', () => {
  test('uses the given fields, each ascending or descending, and the id last', () => {
    expect(list({ sort: '-views,title' }).sort).toMatchObject([
      { field: 'views', column: 'views', descending: true },
      { field: 'title', column: 'title', descending: false },
      { field: 'id', column: 'id' },
    ]);
  });

  test('requires fields that the viewer sees on every record, and its cursors carry only values visible to every viewer', () => {
    const mine = 'Cannot sort by "pay"; sortable fields: title, views, createdAt, updatedAt';
    for (const viewer of [undefined, ann]) expect(refusal(() => list({ sort: 'pay' }, viewer))).toBe(mine);
    expect(list({ sort: 'pay' }, { id: ID, roles: ['admin'] }).cursorCarriesValues).toBe(true);
    expect(list({ sort: 'pay' }, 'system').cursorCarriesValues).toBe(false);
    expect(list({ sort: 'secret' }, 'system').cursorCarriesValues).toBe(false);
    expect(list({ sort: 'plain,views' }, 'system').cursorCarriesValues).toBe(true);
    expect(refusal(() => list({ sort: 'tags' }, 'system'))).toContain('Cannot sort by "tags"');
    expect(refusal(() => list({ sort: 'createdAt' }, undefined, counted!))).toContain('sortable fields: none');
  });

  test('of code requires fields with ordered values: not JSON, encrypted texts or passwords', () => {
    const names = 'long, words, once, prefix, id, createdAt, updatedAt';
    for (const field of ['data', 'sealed']) {
      expect(refusal(() => list({ sort: field }, 'system', prose!))).toBe(
        `Cannot sort by "${field}"; sortable fields: ${names}`,
      );
    }
    expect(refusal(() => list({ sort: 'password' }, 'system', user!))).toContain('Cannot sort by "password"');
  });

  test('accepts up to 8 fields, each once', () => {
    const eight = 'title,views,plain,author,private,pay,secret,id';
    expect(list({ sort: eight }, 'system').sort).toHaveLength(8);
    expect(refusal(() => list({ sort: `${eight},createdAt` }, 'system'))).toBe(
      'The query parameter "sort" takes at most 8 fields',
    );
    expect(refusal(() => list({ sort: 'title,-title' }))).toBe('The query parameter "sort" names a field twice');
  });
});

describe('fields and include', () => {
  test('select the returned fields: the id always, and the references that are expanded', () => {
    expect([...list({ fields: 'title' }).fields!]).toEqual(['id', 'title']);
    expect([...list({ fields: 'title', include: 'author' }).fields!]).toEqual(['id', 'title', 'author']);
    expect(list({ include: 'author' }).fields).toBeUndefined();
    expect([...list({ include: 'author' }).include.keys()]).toEqual(['author']);
    expect([...list({}).include]).toEqual([]);
  });

  test.each([
    [note!, 'id, createdAt, updatedAt, title, views, tags, plain, author, private, pay'],
    [kept!, 'id, createdAt, updatedAt, deletedAt, name'],
    [counted!, 'id, count'],
  ])('refuse a field that cannot be selected, and list the ones that can', (resource, fields) => {
    expect(refusal(() => list({ fields: 'secret' }, undefined, resource))).toBe(
      `Cannot select the field "secret"; selectable fields: ${fields}`,
    );
  });

  test('are the only parameters of a read of one record', () => {
    expect(parseReadQuery(note!, {}, getResource)).toEqual({ include: new Map(), fields: undefined });
    const both = parseReadQuery(note!, { fields: 'views', include: 'author' }, getResource);
    expect([...both.fields!]).toEqual(['id', 'views', 'author']);
    for (const name of ['title', 'sort', 'page']) {
      expect(refusal(() => parseReadQuery(note!, { [name]: 'x' }, getResource))).toBe(
        `Unknown query parameter "${name}"; allowed here: include, fields`,
      );
    }
  });
});
