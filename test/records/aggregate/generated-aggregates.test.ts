// Aggregates equal those computed in JavaScript from the records that the same viewer gets by listing.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { type Client, startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const fields = {
  batch: f.integer().filterable(),
  kind: f.enum(['a', 'b', 'c']).filterable().aggregatable(),
  team: f.string().filterable().visibleTo('owner | admin').aggregatable(),
  flag: f.boolean().aggregatable(),
  points: f.integer().filterable().aggregatable(),
  hours: f.number().visibleTo('owner').filterable().aggregatable(),
  price: f.decimal({ precision: 12, scale: 4 }).visibleTo('admin').aggregatable(),
  at: f.date().filterable().aggregatable(),
  until: f.date().visibleTo('owner | admin').aggregatable(),
  author: f.ref('user').owner().aggregatable(),
};
type Name = Exclude<keyof typeof fields, 'batch'>;
const shown = defineResource('shown', { fields, policies: { list: 'public' } });
const owned = defineResource('owned', { fields, policies: { list: 'owner | admin' } });
const { app, call, person } = await startTestApp({ resources: [defineUser(), shown, owned] });

interface Viewer {
  id: string | undefined;
  isAdmin: boolean;
  call: Client;
}
const people = { ann: await person('Ann'), bob: await person('Bob'), root: await person('Root', ['user', 'admin']) };
const viewers: Viewer[] = [
  { id: undefined, isAdmin: false, call },
  { id: people.ann.id, isAdmin: false, call: people.ann.call },
  { id: people.bob.id, isAdmin: false, call: people.bob.call },
  { id: people.root.id, isAdmin: true, call: people.root.call },
];

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 });
// Around changes of the clock in Berlin and New York, around years with 53 weeks, and far away.
const moments = [
  '2026-03-29T00:00:00Z',
  '2026-10-25T00:00:00Z',
  '2026-11-01T05:00:00Z',
  '2026-12-31T20:00:00Z',
  '2020-12-30T12:00:00Z',
  '1999-06-15T12:00:00Z',
];
const date = fc
  .tuple(fc.constantFrom(...moments), fc.integer({ min: -3 * 36e5, max: 40 * 36e5 }))
  .map(([moment, ms]) => new Date(Date.parse(moment) + ms).toISOString());
const record = fc.record({
  kind: optional(fc.constantFrom('a' as const, 'b' as const, 'c' as const)),
  team: optional(fc.constantFrom('red', 'Red', 'ärger', 'zoo', '💚', '')),
  flag: optional(fc.boolean()),
  points: optional(fc.integer({ min: -5, max: 1000 })),
  // Quarters, which every order of additions sums up to the same number.
  hours: optional(fc.integer({ min: -40, max: 400 }).map((n) => n / 4)),
  price: optional(fc.integer({ min: -1e7, max: 1e7 }).map((n) => (n / 1e4).toFixed(4))),
  at: optional(date),
  until: optional(date),
  author: fc.constantFrom(people.ann.id, people.bob.id, people.root.id),
});

const BATCHES = 4;
for (const resource of [shown, owned]) {
  for (let batch = 0; batch < BATCHES; batch++) {
    const records = fc.sample(record, 40);
    await Promise.all(records.map((values) => app.service(resource).create({ ...values, batch })));
  }
}

type Row = Partial<Record<Name, string | number | boolean>>;

/** Whether a viewer sees a field, restated from the declaration above. */
function sees(viewer: Viewer, name: string, row: Row): boolean {
  const isOwner = row.author === viewer.id;
  if (name === 'team' || name === 'until') return isOwner || viewer.isAdmin;
  if (name === 'hours') return isOwner;
  return name !== 'price' || viewer.isAdmin;
}

/** The clock of a time zone at a moment, as if it were UTC. */
function localClock(iso: string, timeZone: string): Date {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  const parts = Object.fromEntries(format.formatToParts(new Date(iso)).map(({ type, value }) => [type, Number(value)]));
  return new Date(Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!, parts.second!));
}

function weekOf(day: Date): string {
  const thursday = new Date(day.getTime() + (3 - ((day.getUTCDay() + 6) % 7)) * 864e5);
  const first = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  const week = Math.floor((thursday.getTime() - first) / 864e5 / 7) + 1;
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`;
}

function bucketOf(unit: string, iso: string, timeZone: string): string {
  const clock = localClock(iso, timeZone);
  const text = clock.toISOString();
  if (unit === 'year') return text.slice(0, 4);
  if (unit === 'quarter') return `${text.slice(0, 4)}-Q${Math.floor(clock.getUTCMonth() / 3) + 1}`;
  if (unit === 'month') return text.slice(0, 7);
  if (unit === 'week') return weekOf(clock);
  if (unit === 'day') return text.slice(0, 10);
  const minutes = Math.round((clock.getTime() - Math.floor(Date.parse(iso) / 1000) * 1000) / 60_000);
  const offset = `${String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')}:${String(Math.abs(minutes) % 60).padStart(2, '0')}`;
  return `${text.slice(0, 13)}:00${minutes < 0 ? '-' : '+'}${offset}`;
}

function sumOf(name: Name, values: readonly (string | number | boolean)[]): unknown {
  if (name !== 'price') return values.reduce((sum: number, value) => sum + Number(value), 0);
  const total = values.reduce((sum: bigint, value) => sum + BigInt(Math.round(Number(value) * 1e4)), 0n);
  const digits = String(total < 0n ? -total : total).padStart(5, '0');
  return `${total < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

function aggregateOf(fn: string, name: Name, rows: readonly Row[], viewer: Viewer): unknown {
  const values = rows.flatMap((row) => (sees(viewer, name, row) ? (row[name] ?? []) : []));
  if (fn === 'countDistinct') return new Set(values).size;
  if (values.length === 0) return null;
  if (fn === 'sum') return sumOf(name, values);
  if (fn === 'avg') return expect.toSatisfy((value) => isClose(Number(value), values.map(Number)));
  const sorted = values.toSorted((a, b) =>
    name === 'at' || name === 'until' ? (a < b ? -1 : 1) : Number(a) - Number(b),
  );
  return fn === 'min' ? sorted[0] : sorted.at(-1);
}

function isClose(value: number, values: readonly number[]): boolean {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return Math.abs(value - mean) <= 1e-9 * Math.max(1, Math.abs(mean));
}

const groupTerm = fc.oneof(
  fc.constantFrom('kind', 'team', 'flag', 'points', 'price', 'author'),
  fc
    .tuple(fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year'), fc.constantFrom('at', 'until'))
    .map(([unit, name]) => `${unit}(${name})`),
);
const aggregate = fc.oneof(
  fc.tuple(fc.constantFrom('sum', 'avg', 'min', 'max'), fc.constantFrom<Name>('points', 'hours', 'price')),
  fc.tuple(fc.constantFrom('min', 'max'), fc.constantFrom<Name>('at', 'until')),
  fc.tuple(fc.constant('countDistinct'), fc.constantFrom<Name>('kind', 'team', 'author', 'hours')),
);
const filter = fc.constantFrom(
  '',
  'kind=a',
  'kind[ne]=b',
  'team=red',
  'points[gte]=100',
  'hours[lt]=20',
  'at[gte]=2026-06-01',
  'kind[exists]=false',
);
const query = fc.record({
  resource: fc.constantFrom('showns', 'owneds'),
  viewer: fc.constantFrom(...viewers),
  batch: fc.nat(BATCHES - 1),
  group: fc.uniqueArray(groupTerm, { maxLength: 3 }),
  aggregates: fc.uniqueArray(aggregate, { maxLength: 9, selector: String }),
  filter,
  timeZone: fc.constantFrom(
    ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Australia/Lord_Howe'],
  ),
});

function expectedGroups(
  rows: readonly Row[],
  { viewer, group, aggregates, timeZone }: typeof query extends fc.Arbitrary<infer Q> ? Q : never,
): object[] {
  const terms = group.map((key) => {
    const [, unit, bucketed] = /^(\w+)\((\w+)\)$/.exec(key) ?? [];
    return { key, unit, name: (bucketed ?? key) as Name };
  });
  const counted = rows.filter((row) => terms.every(({ name }) => sees(viewer, name, row)));
  const byKey = Map.groupBy(counted, (row) =>
    JSON.stringify(
      terms.map(({ unit, name }) => {
        const value = row[name];
        return value === undefined ? null : unit === undefined ? value : bucketOf(unit, value as string, timeZone);
      }),
    ),
  );
  if (terms.length === 0 && byKey.size === 0) byKey.set('[]', []);
  return [...byKey].map(([key, members]) => {
    const values = JSON.parse(key) as unknown[];
    const results: Record<string, Record<string, unknown>> = {};
    for (const [fn, name] of aggregates)
      results[fn] = { ...results[fn], [name]: aggregateOf(fn, name, members, viewer) };
    return {
      group: Object.fromEntries(terms.map((term, i) => [term.key, values[i]])),
      count: members.length,
      ...results,
    };
  });
}

const byGroup = (groups: { group?: object }[]) =>
  groups.toSorted((a, b) => (JSON.stringify(a.group) < JSON.stringify(b.group) ? -1 : 1));

test('aggregates equal those computed from the list of the same viewer', async () => {
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const { viewer, resource, batch, group, aggregates, filter, timeZone } = asked;
      const selection = `batch=${batch}${filter === '' ? '' : `&${filter}`}`;
      const listed = await viewer.call('GET', `/api/${resource}?${selection}&limit=100`);
      const byFunction = Map.groupBy(aggregates, ([fn]) => fn);
      const parameters = [
        ...(group.length === 0 ? [] : [`group=${group.join()}`]),
        'count',
        ...[...byFunction].map(([fn, list]) => `${fn}=${list.map(([, name]) => name).join()}`),
        `timeZone=${timeZone}`,
        selection,
        'limit=1000',
      ];
      const { status, body } = await viewer.call('GET', `/api/${resource}/aggregate?${parameters.join('&')}`);
      expect(status).toBe(listed.status);
      if (status !== 200) return;
      const expected = expectedGroups(listed.body.data, asked);
      expect(byGroup(body.data)).toEqual(byGroup(expected));
      expect(body.meta).toEqual({ groups: expected.length, truncated: false });
    }),
    { numRuns: scaleRuns(150) },
  );
});

test('the order of the groups is that of sort, and a limit returns its beginning', async () => {
  await fc.assert(
    fc.asyncProperty(query, fc.boolean(), fc.integer({ min: 1, max: 5 }), async (asked, descending, limit) => {
      const { viewer, batch, group, timeZone } = asked;
      const sort = `${descending ? '-' : ''}count`;
      const path = `/api/showns/aggregate?batch=${batch}&group=${['kind', ...group.filter((term) => term !== 'kind').slice(0, 2)].join()}&timeZone=${timeZone}&sort=${sort}`;
      const all = (await viewer.call('GET', `${path}&limit=1000`)).body;
      const counts = all.data.map(({ count }: { count: number }) => count);
      expect(counts).toEqual(counts.toSorted((a: number, b: number) => (descending ? b - a : a - b)));
      const first = (await viewer.call('GET', `${path}&limit=${limit}`)).body;
      expect(first.data).toEqual(all.data.slice(0, limit));
      expect(first.meta).toEqual({ groups: all.data.length, truncated: all.data.length > limit });
    }),
    { numRuns: scaleRuns(60) },
  );
});
