// Two resources whose records differ only in what a viewer may not see. Every query must have the same response for both: a response
// that depends on a value reveals it.
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { type Client, startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const RUNS = scaleRuns(20);

const VIEWERS = ['nobody', 'stranger', 'owner', 'admin'] as const;
type Viewer = (typeof VIEWERS)[number];

const all = () => f.string().filterable().sortable().searchable();
const numbers = () => f.integer().filterable(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists']).sortable();
const fields = {
  open: all(),
  author: f.ref('user').owner(),
  hidden: f.string().hidden(),
  hiddenTag: f.ref('tag').hidden(),
  written: f.string().writeOnly(),
  writtenTag: f.ref('tag').writeOnly(),
  word: f.password(),
  sealed: f.string().encrypted(),
  sealedHidden: f.string().encrypted().hidden(),
  forAdmin: all().visibleTo('admin'),
  adminNumber: numbers().visibleTo('admin'),
  adminTag: f.ref('tag').filterable().visibleTo('admin'),
  adminTags: f.array(f.ref('tag')).filterable().visibleTo('admin'),
  forOwner: all().visibleTo('owner'),
  ownerNumber: numbers().visibleTo('owner'),
  ownerTag: f.ref('tag').filterable().populate().visibleTo('owner'),
  forBoth: all().visibleTo('owner | admin'),
  forNone: f.string().visibleTo('none'),
};
type Name = keyof typeof fields;
const open = { list: 'public', read: 'public' } as const;
const red = defineResource('red', { fields, policies: open });
const blue = defineResource('blue', { fields, policies: open });
const tag = defineResource('tag', { fields: { label: f.string() }, policies: open });

const { app, call, env, person } = await startTestApp({ resources: [defineUser(), tag, red, blue] });
const people = {
  stranger: await person('stranger'),
  owner: await person('owner'),
  admin: await person('admin', ['user', 'admin']),
};
const as = (viewer: Viewer): Client => (viewer === 'nobody' ? call : people[viewer].call);
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

const tags: string[] = [];
for (const label of ['t0', 't1', 't2']) tags.push((await app.service('tag').create({ label })).id);
/** Two values per field: the value in red records, and the one in blue records wherever the viewer may not see the field. */
const other: Record<string, [unknown, unknown]> = {
  ...Object.fromEntries(Object.keys(fields).map((name) => [name, [`red ${name}`, `blue ${name}`]])),
  hiddenTag: [tags[0], tags[1]],
  writtenTag: [tags[0], tags[1]],
  adminNumber: [5, 7],
  adminTag: [tags[0], null],
  adminTags: [[tags[0]], [tags[1], tags[2]]],
  ownerNumber: [5, null],
  ownerTag: [tags[0], tags[1]],
};
const SECRETS = Object.keys(fields).filter((name) => !['open', 'author'].includes(name)) as Name[];

/** Whether this viewer sees the field on a record of that author. */
function sees(viewer: Viewer, name: Name, author: string): boolean {
  const own = viewer === 'owner' && author === people.owner.id;
  const { hidden, writeOnly, type, visibleTo } = fields[name].spec;
  if (hidden || writeOnly || type.kind === 'password') return false;
  if (visibleTo === undefined) return true;
  return (own && String(visibleTo).includes('owner')) || (viewer === 'admin' && String(visibleTo).includes('admin'));
}

const ids: { id: string; author: string }[] = [];
for (let i = 0; i < 6; i++) {
  const author = i % 2 === 0 ? people.owner.id : people.stranger.id.replace(/./g, 'f');
  const values = SECRETS.filter((_, at) => (i + at) % 4 !== 0).map((name) => [name, other[name]![0]]);
  const input = { ...Object.fromEntries(values), open: `open ${i % 3}`, author };
  ids.push({ id: (await app.service('red').create(input as never)).id, author });
}

/** Copies the red records to the blue ones, with other values in every field that the viewer may not see. */
async function paint(viewer: Viewer): Promise<void> {
  await client.query('truncate blues');
  const plain = Object.keys(fields).filter((name) => !['sealed', 'sealedHidden'].includes(name));
  const columns = [
    'id',
    'created_at',
    ...plain.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  ];
  await client.query(`insert into blues (${columns}) select ${columns} from reds`);
  for (const { id, author } of ids) {
    const now = (await app.service('red').read(id)) as Record<string, unknown>;
    const changed = SECRETS.filter((name) => name !== 'word' && !sees(viewer, name, author));
    const change = Object.fromEntries(changed.map((name) => [name, now[name] === undefined ? other[name]![1] : null]));
    for (const name of changed) if (change[name] === null) change[name] = other[name]![1];
    await app
      .service('blue')
      .update(id, { ...change, ...(now.sealed === undefined ? {} : { sealed: now.sealed }) } as never);
  }
  await client.query('update blues set updated_at = reds.updated_at from reds where reds.id = blues.id');
}

/** A response without parts that always differ: the resource's name, the request id, the seal of a cursor. */
function comparable(response: {
  status: number;
  body: { meta?: { next?: string }; error?: { requestId: string } };
}): string {
  const { status, body } = response;
  const next = body.meta?.next;
  if (next) body.meta!.next = Buffer.from(next, 'base64url').subarray(9).toString();
  if (body.error) body.error.requestId = '';
  return JSON.stringify({ status, body });
}

const values = [
  ...new Set(
    Object.values(other)
      .flat(2)
      .filter((value) => value !== null)
      .map(String),
  ),
  '6',
  'red',
  'blue',
  '',
];
const operator = fc.constantFrom(
  '',
  '[eq]',
  '[ne]',
  '[in]',
  '[nin]',
  '[exists]',
  '[gt]',
  '[gte]',
  '[lt]',
  '[lte]',
  '[all]',
  '.x',
);
const value = fc.oneof(
  fc.constantFrom(...values, 'true', 'false'),
  fc.constantFrom(...values).map((one) => one.slice(0, 4)),
);
const several = (one: fc.Arbitrary<string>) =>
  fc
    .uniqueArray(one, { minLength: 1, maxLength: 3, selector: (text) => text.replace('-', '') })
    .map((list) => list.join(','));
const marked = (mark: 'filterable' | 'sortable') =>
  fc.constantFrom(...Object.entries(fields).flatMap(([field, { spec }]) => (spec[mark] ? [field] : [])));
const secret = (field: string) =>
  fields[field as Name].spec.hidden || fields[field as Name].spec.writeOnly || field === 'word';
const anyName = fc.constantFrom(...Object.keys(fields));
const returned = fc.constantFrom(...Object.keys(fields).filter((field) => !secret(field)));
const reference = fc.constantFrom('author', 'adminTag', 'adminTags', 'ownerTag');
/** Mostly valid names, so that there are responses to compare; sometimes any name. */
const mostly = (right: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: anyName });
const text = (one: unknown) => encodeURIComponent(String(one));
const filter = fc.oneof(
  {
    weight: 2,
    arbitrary: fc
      .tuple(marked('filterable'), fc.constantFrom('true', 'false'))
      .map(([field, there]) => `${field}[exists]=${there}`),
  },
  {
    weight: 4,
    arbitrary: marked('filterable').chain((field) =>
      fc.constantFrom(...other[field]!.flat(), ...other.open!).map((one) => `${field}=${text(one)}`),
    ),
  },
  {
    weight: 4,
    arbitrary: marked('filterable').chain((field) =>
      fc
        .tuple(fc.constantFrom('ne', 'in', 'nin'), fc.constantFrom(...other[field]!.flat()))
        .map(([op, one]) => `${field}[${op}]=${text(one)}`),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('adminNumber', 'ownerNumber'), fc.constantFrom('gt', 'gte', 'lt', 'lte'), fc.nat(8))
      .map(([field, op, one]) => `${field}[${op}]=${one}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(mostly(marked('filterable')), operator, value)
      .map(([field, op, one]) => `${field}${op}=${text(one)}`),
  },
);
const sort = several(
  fc
    .tuple(fc.constantFrom('', '-'), fc.oneof(fc.constantFrom('open', 'createdAt'), mostly(marked('sortable'))))
    .map((parts) => parts.join('')),
);
const parameter = fc.oneof(
  { weight: 5, arbitrary: filter },
  { weight: 2, arbitrary: sort.map((list) => `sort=${list}`) },
  { weight: 2, arbitrary: value.map((one) => `q=${text(one)}`) },
  { weight: 2, arbitrary: several(mostly(returned)).map((list) => `fields=${list}`) },
  { weight: 2, arbitrary: several(mostly(reference)).map((list) => `include=${list}`) },
  { weight: 1, arbitrary: fc.constantFrom('count=none', 'count=capped', 'limit=2', 'page=2') },
);
const query = fc.uniqueArray(parameter, { minLength: 1, maxLength: 3, selector: (one) => one.split('=')[0] });

for (const viewer of VIEWERS) {
  test(`${viewer}: no response depends on a value that the viewer may not see`, async () => {
    await paint(viewer);
    const ask = (path: string, text: string) => as(viewer)('GET', `/api/${path}?${text}`);
    let answered = 0;
    const property = fc.asyncProperty(query, fc.nat(9), async (parts, which) => {
      const text = parts.join('&');
      const one = which === 0;
      const at = one ? `/${ids[0]!.id}` : '';
      let [left, right] = await Promise.all([ask(`reds${at}`, text), ask(`blues${at}`, text)]);
      const cursors = [left, right].map((response) => response.body.meta?.next);
      expect(comparable(right)).toBe(comparable(left));
      if (left.status === 200) answered++;
      if (typeof cursors[0] !== 'string' || text.includes('page=')) return;
      [left, right] = await Promise.all([
        ask('reds', `${text}&after=${cursors[0]}`),
        ask('blues', `${text}&after=${cursors[1]}`),
      ]);
      expect([left.status, comparable(right)]).toEqual([200, comparable(left)]);
    });
    await fc.assert(property, { numRuns: RUNS });
    expect(answered).toBeGreaterThan(0.3 * RUNS);
  });

  test(`${viewer}: the response for a field closed to queries equals that for an unknown field, byte for byte`, async () => {
    const shapes = [
      'X=v',
      'X[in]=v',
      'X[exists]=true',
      'X[]=v',
      'X.y=v',
      'X[y]=v',
      'sort=X',
      'sort=-X',
      'sort=open,-X',
      'include=X',
      'include=X.label',
      'include=author.X',
      'count=none&X=v',
    ];
    for (const shape of [...shapes, 'fields=X', 'fields=open,X']) {
      for (const path of ['reds', `reds/${ids[0]!.id}`]) {
        const answerWith = async (field: string) => {
          const response = await as(viewer)('GET', `/api/${path}?${shape.replace('X', field)}`);
          return comparable(response).replaceAll(field, 'X');
        };
        const unknown = await answerWith('abcdefgh');
        expect(unknown).toContain('"status":400');
        for (const field of ['hidden', 'hiddenTag', 'written', 'writtenTag', 'word', 'sealed', 'sealedHidden']) {
          if (field === 'sealed' && shape.startsWith('fields=')) continue;
          expect(await answerWith(field)).toBe(unknown);
        }
      }
    }
  });

  test(`${viewer}: the response to a sort by a partly visible field equals that for an unknown field, byte for byte`, async () => {
    const blind = SECRETS.filter(
      (one) => fields[one].spec.sortable && ids.some(({ author }) => !sees(viewer, one, author)),
    );
    expect(blind).toContain('ownerNumber');
    for (const field of blind) {
      const responses = await Promise.all(
        [field, 'abcdefgh'].map(async (one) =>
          comparable(await as(viewer)('GET', `/api/reds?sort=${one}`)).replaceAll(one, 'X'),
        ),
      );
      expect(responses[0]).toBe(responses[1]);
    }
  });
}
