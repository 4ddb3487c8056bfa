// A filter of an endpoint selects the records that the same filter of a list selects for the owner of the endpoint.
import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Person, startTestApp } from '../../../support/app.ts';
import { isFuzzing, scaleRuns } from '../../../support/vitest/fuzz-runs.ts';

const area = defineResource('area', {
  fields: {
    name: f.string().filterable(),
    rank: f.integer().filterable().visibleTo('admin'),
    keeper: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', reference: 'owner | admin' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { name: { ne: 'c' } }),
});
const thing = defineResource('thing', {
  fields: {
    text: f.string().filterable(),
    kind: f.enum(['a', 'b', 'c']).filterable(),
    size: f.integer().filterable(),
    price: f.decimal({ scale: 2 }).filterable(),
    flag: f.boolean().filterable(),
    at: f.date().filterable(),
    tags: f.array(f.string()).filterable(),
    mine: f.string().filterable().visibleTo('owner').writableBy('authenticated'),
    secret: f.string().filterable().visibleTo('admin').writableBy('authenticated'),
    both: f.string().filterable().visibleTo('owner | admin').writableBy('authenticated'),
    area: f.ref('area').filterable(),
    areas: f.array(f.ref('area')).filterable(),
    touched: f.boolean(),
    user: f.ref('user').owner(),
  },
  relations: { parts: f.reverse('part', 'thing') },
  policies: {
    list: 'authenticated',
    read: 'authenticated',
    create: 'authenticated',
    update: 'authenticated',
    delete: 'none',
  },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { kind: { ne: 'c' } }),
});
const part = defineResource('part', {
  fields: {
    thing: f.ref('thing').filterable().index(),
    state: f.enum(['new', 'old']).filterable(),
    weight: f.integer().filterable(),
    maker: f.ref('user').owner(),
  },
  policies: { list: 'owner | admin', read: 'owner | admin' },
});

const { app, env, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin'] }), area, thing, part],
    extensions: [webhooks({ maxEndpointsPerUser: 10_000 })],
    settings: { pagination: { maxLimit: 1000 } },
  },
  { roles: ['web', 'relay'] },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

const RECORDS = 60;
const FILTERS = scaleRuns(80);
const sample = <T>(values: fc.Arbitrary<T>, numRuns: number): T[] =>
  fc.sample(values, isFuzzing ? { numRuns } : { numRuns, seed: 7 });

const TEXTS = ['a', 'b', 'B', 'ä', ''];
const DATES = ['2030-01-01T00:00:00.000Z', '2030-01-02T00:00:00.000Z', '1969-12-31T23:59:59.999Z'];
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const text = fc.constantFrom(...TEXTS);
const id = (ids: readonly string[]) => fc.constantFrom(...ids, '0'.repeat(24));

const things = (areas: readonly string[]) =>
  fc.record({
    text: optional(text),
    kind: optional(fc.constantFrom('a', 'b', 'c')),
    size: optional(fc.integer({ min: -2, max: 2 })),
    price: optional(fc.constantFrom('0.50', '1.00', '10.00', '9.00')),
    flag: optional(fc.boolean()),
    at: optional(fc.constantFrom(...DATES)),
    tags: optional(fc.uniqueArray(text, { maxLength: 3 })),
    mine: optional(text),
    secret: optional(text),
    both: optional(text),
    area: optional(id(areas)),
    areas: optional(fc.uniqueArray(id(areas), { maxLength: 3 })),
  });

/** One parameter of a list, with a value that fits the field, or rarely one that does not. */
function parameters(areas: readonly string[]): fc.Arbitrary<[string, string]> {
  const numbers = fc.integer({ min: -2, max: 2 }).map(String);
  const kinds = fc.constantFrom('a', 'b', 'c', 'x');
  const values: Record<string, fc.Arbitrary<string>> = {
    text,
    kind: kinds,
    size: numbers,
    price: fc.constantFrom('0.5', '1', '9.5', 'x'),
    flag: fc.constantFrom('true', 'false'),
    at: fc.constantFrom(...DATES, '2030-01-01'),
    tags: text,
    mine: text,
    secret: text,
    both: text,
    area: id(areas),
    areas: id(areas),
    'area.name': fc.constantFrom('a', 'b', 'c'),
    'area.rank': numbers,
    'areas.name': fc.constantFrom('a', 'b', 'c'),
    'parts.state': fc.constantFrom('new', 'old'),
    'parts.weight': numbers,
    parts: fc.constantFrom('true', 'false'),
    unknown: text,
  };
  const operators = ['', '', '[ne]', '[in]', '[nin]', '[gt]', '[gte]', '[lt]', '[lte]', '[all]', '[exists]'];
  return fc.constantFrom(...Object.keys(values)).chain((field) =>
    fc
      .constantFrom(...(field === 'parts' ? ['[exists]'] : operators))
      .chain((operator): fc.Arbitrary<[string, string]> => {
        const value = values[field]!;
        const fitting =
          operator === '[exists]'
            ? fc.constantFrom('true', 'false')
            : ['[in]', '[nin]', '[all]'].includes(operator)
              ? fc.array(value, { minLength: 1, maxLength: 3 }).map((list) => list.join(','))
              : value;
        return fitting.map((wanted) => [`${field}${operator}`, wanted]);
      }),
  );
}

async function createRecords(owners: readonly Person[], makers: readonly string[]) {
  const system = app.service;
  const areas = await Promise.all(
    ['a', 'b', 'c'].map((name, i) => system('area').create({ name, rank: i, keeper: makers[i % makers.length]! })),
  );
  const areaIds = areas.map((one) => one.id);
  const made: { id: string; owner: Person }[] = [];
  for (const [i, values] of sample(things(areaIds), RECORDS).entries()) {
    const owner = owners[i % owners.length]!;
    const { status, body } = await owner.call('POST', '/api/things', values);
    expect(status, JSON.stringify(body)).toBe(201);
    made.push({ id: body.data.id, owner });
    for (let n = 0; n < i % 3; n++)
      await system('part').create({
        thing: body.data.id,
        state: n === 0 ? 'new' : 'old',
        weight: (i % 5) - 2,
        maker: makers[(i + n) % makers.length]!,
      });
  }
  return { areaIds, made };
}

test('for random records, filters and viewers, an endpoint gets the events of the records that the list returns', async () => {
  const [ann, root, bob] = [await person('Ann'), await person('Root', ['admin']), await person('Bob')];
  const { areaIds, made } = await createRecords([ann, bob, root], [ann.id, bob.id]);
  const filters = sample(
    fc.array(parameters(areaIds), { minLength: 1, maxLength: 3 }).map(Object.fromEntries),
    FILTERS,
  );

  const expected = new Map<string, string[]>();
  let refused = 0;
  for (const who of [ann, root])
    for (const [i, filter] of filters.entries()) {
      const listed = await who.call('GET', `/api/things?${new URLSearchParams({ ...filter, limit: '1000' })}`);
      const body = {
        url: 'http://127.0.0.1:9/',
        events: ['thing.updated'],
        filter: { [i % 2 === 0 ? 'thing.*' : 'thing.updated']: filter },
      };
      const created = await who.call('POST', '/api/webhooks', body);
      const told = JSON.stringify([filter, listed.body, created.body]);
      if (created.status === 201) {
        expect(listed.status, told).toBe(200);
        expected.set(created.body.data.id, listed.body.data.map((one: { id: string }) => one.id).sort());
      } else {
        refused++;
        expect(created.status, told).toBe(422);
        // The list refuses the filter, too, or returns nothing because the viewer sees one of the fields in no record.
        if (listed.status !== 400) expect(listed.body.data, told).toEqual([]);
      }
    }
  expect(refused).toBeGreaterThan(0);
  expect(expected.size).toBeGreaterThan(FILTERS / 2);
  expect([...expected.values()].filter((ids) => ids.length > 0 && ids.length < 20).length).toBeGreaterThan(10);

  const all = await root.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['thing.updated'] });
  for (const one of made) await app.service('thing').update(one.id, { touched: true });
  const deliveries = async (endpoint: string) => {
    const text = `select body::jsonb -> 'data' ->> 'id' as id from webhook_deliveries where endpoint_id = $1`;
    return (await client.query<{ id: string }>(text, [endpoint])).rows.map((row) => row.id).sort();
  };
  await vi.waitUntil(async () => (await deliveries(all.body.data.id)).length === RECORDS, {
    timeout: 60_000,
    interval: 50,
  });
  const { rows } = await client.query(`select id, filter from webhook_endpoints`);
  for (const [endpoint, ids] of expected) {
    const { filter } = rows.find((row) => row.id === endpoint);
    expect(await deliveries(endpoint), JSON.stringify(filter)).toEqual(ids);
  }
});
