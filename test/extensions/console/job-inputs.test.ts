import { expect, test } from 'vitest';
import { z } from 'zod';
import { adminConsole, defineJob, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const run = () => undefined;
const everyField = defineJob('every-field', {
  description: 'Takes everything',
  input: z.strictObject({
    olderThanDays: z.int().positive().max(90).meta({ title: 'Age', description: 'In days' }),
    note: z.string().min(2).max(500).optional(),
    code: z.string().regex(/^[A-Z]+$/),
    contact: z.email().nullable(),
    site: z.url().nullish(),
    account: z.uuid(),
    day: z.iso.date(),
    at: z.iso.datetime(),
    since: z.coerce.date(),
    share: z.number().min(0).max(1).default(0.5),
    dryRun: z.boolean().default(true),
    mode: z.enum(['fast', 'safe']),
    kind: z.literal('feed'),
    size: z.union([z.literal('s'), z.literal('m')]),
    tags: z.array(z.string()).max(3),
    place: z.object({ street: z.string(), floor: z.int().nullable() }),
    stops: z.array(z.object({ name: z.string() })).optional(),
    either: z.union([z.string(), z.number()]),
    anything: z.unknown(),
    scores: z.record(z.string(), z.number()),
    grid: z.array(z.array(z.number())),
    pair: z.tuple([z.string(), z.number()]),
  }),
  run,
});
const tree = z.object({
  title: z.string(),
  get children() {
    return z.array(tree);
  },
});
const sameId = z.object({ a: z.string().meta({ id: 'Twin' }), b: z.number().meta({ id: 'Twin' }) });
const jobs = [
  everyField,
  defineJob('no-input', { run }),
  defineJob('one-text', { input: z.string(), run }),
  defineJob('one-of', { input: z.discriminatedUnion('by', [z.object({ by: z.literal('id') })]), run }),
  defineJob('maybe', { input: z.object({ limit: z.int().optional() }).optional(), run }),
  defineJob('nested', { input: tree, run }),
  defineJob('same-id', { input: sameId, run }),
  defineJob('refined', {
    input: z.object({ from: z.string(), to: z.string() }).refine(({ from, to }) => from < to),
    run,
  }),
  defineJob('other-library', {
    input: { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } },
    run,
  }),
  defineJob('wordy', { input: z.unknown(), run: ({ input }) => input }),
];
const { app, call } = await startTestApp(
  { resources: [defineUser()], jobs, extensions: [adminConsole()] },
  { roles: 'all' },
);
const API = '/console/api/jobs';

type Field = Record<string, unknown> & { name: string };
const readKind = async (name: string) => (await call('GET', `${API}/kinds/${name}`)).body.data;
const fieldsOf = async (name: string): Promise<Map<string, Field>> =>
  new Map((await readKind(name)).input.fields.map((field: Field) => [field.name, field]));

/** Enqueues a value as the input of a job that returns it, and returns the finished job as the console shows it. */
async function readFinished(input: unknown) {
  const { id } = await app.jobs.enqueue('wordy', input);
  const read = async () => (await call('GET', `${API}/runs/${id}`)).body.data;
  await expect.poll(async () => (await read()).status, { timeout: 60_000 }).toBe('succeeded');
  return read();
}

test('a field has the type, bounds, choices and default of its schema', async () => {
  const fields = await fieldsOf('every-field');
  expect([...fields].map(([name, { type, required }]) => [name, type, required])).toEqual([
    ['olderThanDays', 'integer', true],
    ['note', 'text', false],
    ['code', 'string', true],
    ['contact', 'email', false],
    ['site', 'url', false],
    ['account', 'id', true],
    ['day', 'day', true],
    ['at', 'date', true],
    ['since', 'date', true],
    ['share', 'number', false],
    ['dryRun', 'boolean', false],
    ['mode', 'enum', true],
    ['kind', 'enum', true],
    ['size', 'enum', true],
    ['tags', 'array', true],
    ['place', 'object', true],
    ['stops', 'array', false],
    ['either', 'json', true],
    ['anything', 'json', true],
    ['scores', 'json', true],
    ['grid', 'json', true],
    ['pair', 'json', true],
  ]);
  expect(fields.get('olderThanDays')).toMatchObject({ label: 'Age', description: 'In days', min: 1, max: 90 });
  expect(fields.get('note')).toMatchObject({ label: 'Note', min: 2, max: 500 });
  expect(fields.get('code')).toMatchObject({ pattern: '^[A-Z]+$' });
  expect(fields.get('dryRun')).toMatchObject({ label: 'Dry run', default: true });
  expect(fields.get('share')).toMatchObject({ min: 0, max: 1, default: 0.5 });
  expect(fields.get('mode')).toMatchObject({ values: ['fast', 'safe'] });
  expect(fields.get('kind')).toMatchObject({ values: ['feed'] });
  expect(fields.get('size')).toMatchObject({ values: ['s', 'm'] });
  expect(fields.get('tags')).toMatchObject({ max: 3, inner: { type: 'string' } });
  expect(fields.get('stops')).toMatchObject({ inner: { type: 'object', shape: [{ name: 'name', label: 'Name' }] } });
});

test('an empty field is sent as null only if the schema requires the member and allows null', async () => {
  const fields = await fieldsOf('every-field');
  expect(fields.get('contact')).toMatchObject({ emptyAsNull: true });
  expect(fields.get('site')).not.toHaveProperty('emptyAsNull');
  expect(fields.get('place')).toMatchObject({ shape: [{ name: 'street' }, { name: 'floor', emptyAsNull: true }] });
});

test.each(['one-text', 'one-of', 'same-id', 'other-library'])(
  'an input that no form can express is edited as JSON: %s',
  async (name) => {
    expect((await readKind(name)).input).toEqual({ fields: null, isOptional: false });
  },
);

test('a job without input has no form, and an optional input may be left out', async () => {
  expect(await readKind('no-input')).toEqual({ name: 'no-input', label: 'No input', description: null, input: null });
  expect((await readKind('maybe')).input).toMatchObject({ fields: [{ name: 'limit' }], isOptional: true });
  expect((await readKind('refined')).input).toMatchObject({ fields: [{ name: 'from' }, { name: 'to' }] });
});

test('a schema that contains itself ends with JSON', async () => {
  let [, field] = (await readKind('nested')).input.fields;
  let depth = 0;
  while (field.type === 'array') {
    depth++;
    field = field.inner.shape.find(({ name }: Field) => name === 'children');
  }
  expect([field.type, depth]).toEqual(['json', 2]);
});

test.each(['nope', '__proto__', '%00'])('an unknown kind responds 404: %s', async (name) => {
  expect((await call('GET', `${API}/kinds/${name}`)).status).toBe(404);
});

test('members are shown with the labels of the schema in its order, times as such, and others with the words of their names', async () => {
  const { id } = await app.jobs.enqueue(
    'every-field',
    {
      ...{
        olderThanDays: 3,
        code: 'A',
        contact: null,
        account: '0b8f9a52-51b0-4f0e-9a4c-0a1b2c3d4e5f',
        day: '2030-01-31',
      },
      ...{ at: '2030-01-31T12:00:00Z', since: '2030-01-31', mode: 'fast', kind: 'feed', size: 's', tags: ['x'] },
      ...{ place: { street: 'Main', floor: null }, either: 1, anything: [], scores: {}, grid: [], pair: ['a', 1] },
    },
    { runAt: Date.now() + 3_600_000 },
  );
  const { rows } = (await call('GET', `${API}/runs/${id}`)).body.data.input;
  expect(rows.slice(0, 4)).toEqual([
    { label: 'Age', value: 3 },
    { label: 'Code', type: 'string', value: 'A' },
    { label: 'Contact', value: null },
    { label: 'Account', type: 'id', value: '0b8f9a52-51b0-4f0e-9a4c-0a1b2c3d4e5f' },
  ]);
  expect(rows.find(({ label }: { label: string }) => label === 'Place')).toEqual({
    label: 'Place',
    rows: [
      { label: 'Street', type: 'string', value: 'Main' },
      { label: 'Floor', value: null },
    ],
  });
  const { result } = await readFinished({ sentMails: 2, lastSentAt: '2030-01-31T12:00:00Z', perDay: [{ count: 1 }] });
  expect(result.rows).toEqual([
    { label: 'Per day', rows: [{ rows: [{ label: 'Count', value: 1 }] }] },
    { label: 'Sent mails', value: 2 },
    { label: 'Last sent at', type: 'date', value: '2030-01-31T12:00:00Z' },
  ]);
});

test('what is shown of an input and a result is bounded, and the whole input can be read to run the job again', async () => {
  const input = { text: 'ä'.repeat(20_000), list: Array.from({ length: 1000 }, (_, i) => i) };
  const { id, result } = await readFinished(input);
  expect(result.isCut).toBe(true);
  expect(result.json).toHaveLength(10_001);
  const [list, text] = result.rows;
  expect(list.rows).toHaveLength(198);
  expect(text.value).toHaveLength(1001);
  expect((await call('GET', `${API}/runs/${id}/input`)).body.data).toEqual({ input });
});

test.each([
  [5, [{ value: 5 }]],
  [['a', 'b'], [{ rows: [{ value: 'a' }, { value: 'b' }] }]],
  [{}, []],
])('a result that is no object is shown, too: %o', async (input, rows) => {
  expect((await readFinished(input)).result).toMatchObject({ rows, isCut: false });
});

test('errors of an input name the path of the field, within groups and lists as well', async () => {
  const input = { olderThanDays: 0, place: { floor: 'x' }, tags: [1] };
  const { status, body } = await call('POST', `${API}/runs`, { job: 'every-field', input });
  expect(status).toBe(422);
  expect(body.error.details).toMatchObject({
    'input.olderThanDays': expect.any(String),
    'input.place.street': 'Is required',
    'input.place.floor': expect.any(String),
    'input.tags.0': expect.any(String),
  });
});
