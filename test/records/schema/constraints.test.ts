import { expect, test } from 'vitest';
import { defineResource, defineUser, f, organisations, softDelete, tenant } from '../../../src/index.ts';
import { type ApiResponse, startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const BOOKED = 'The court is booked at that time';
const ENDS = 'The end must be after the start';

const booking = defineResource('booking', {
  fields: {
    court: f.string().required(),
    startsAt: f.date().required(),
    endsAt: f.date().required(),
    status: f.enum(['confirmed', 'cancelled']).default('confirmed'),
    number: f.integer(),
    code: f.string().unique(),
  },
  constraints: (c) => [
    c.exclude(['court', c.range('startsAt', 'endsAt')], { where: { status: 'confirmed' }, message: BOOKED }),
    c.check('endsAt > startsAt', ENDS),
    c.unique(['court', 'number'], { where: { status: { ne: 'cancelled' } } }),
  ],
  softDelete: true,
  policies: open,
});

const stay = defineResource('stay', {
  fields: {
    room: f.boolean(),
    from: f.integer(),
    to: f.integer(),
    price: f.decimal({ scale: 2 }),
    rate: f.number(),
    kind: f.string(),
    note: f.string().hidden(),
  },
  constraints: (c) => [
    c.exclude(['room', c.range('from', 'to', '[]')]),
    c.check('price >= 0.5'),
    c.check(['rate <= price', { kind: { in: ["it's free", 'gift'] } }]),
    c.check({ note: { ne: 'bad' } }, 'Bad note'),
  ],
  policies: open,
});

const { app, call } = await startTestApp({ resources: [defineUser(), booking, stay], extensions: [softDelete()] });

const at = (hour: number) => `2027-03-01T${String(hour).padStart(2, '0')}:00:00.000Z`;
let courts = 0;
const newCourt = () => `court ${++courts}`;
const book = (court: string, from: number, to: number, more: object = {}) =>
  call('POST', '/api/bookings', { court, startsAt: at(from), endsAt: at(to), ...more });
const errorOf = ({ status, body }: ApiResponse) => [
  status,
  body?.error?.code,
  body?.error?.message,
  body?.error?.details,
];
const CONFLICT = [409, 'CONFLICT', BOOKED, { court: BOOKED, startsAt: BOOKED, endsAt: BOOKED }];

test('of twenty clients that book overlapping times at once, one succeeds and the others get the declared message', async () => {
  for (let round = 0; round < 3; round++) {
    const court = newCourt();
    const responses = await Promise.all(Array.from({ length: 20 }, (_, i) => book(court, 1 + (i % 3), 10 + (i % 3))));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(errorOf(response)).toEqual(CONFLICT);
  }
});

test('twenty updates at once that move records to overlapping times leave one of them there', async () => {
  const court = newCourt();
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push((await book(court, i, i + 1)).body.data.id);
  const other = newCourt();
  const responses = await Promise.all(
    ids.map((id) => call('PATCH', `/api/bookings/${id}`, { court: other, startsAt: at(5), endsAt: at(9) })),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
});

test('twenty batches and restores at once never answer with an unexpected error', async () => {
  const [one, two] = [newCourt(), newCourt()];
  const operations = [one, two].map((court) => ({ op: 'create', data: { court, startsAt: at(1), endsAt: at(9) } }));
  const deleted: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { id } = (await book(one, 1, 9)).body.data;
    await call('DELETE', `/api/bookings/${id}`);
    deleted.push(id);
  }
  const responses = await Promise.all([
    ...Array.from({ length: 15 }, () => call('POST', '/api/bookings/batch', { operations })),
    ...deleted.map((id) => call('POST', `/api/bookings/${id}/restore`)),
  ]);
  expect(responses.every(({ status }) => status === 200 || status === 409)).toBe(true);
  expect(
    (await call('GET', `/api/bookings?limit=100`)).body.data.filter((b: { court: string }) => b.court === one),
  ).toHaveLength(1);
});

test('an exclusion applies to creates, updates, upserts and batches, and adjoining ranges do not overlap', async () => {
  const court = newCourt();
  const { id } = (await book(court, 1, 3, { code: `${court} 1` })).body.data;
  expect((await book(court, 3, 5, { code: `${court} 2` })).status).toBe(201);
  expect(errorOf(await book(court, 2, 4))).toEqual(CONFLICT);
  expect(errorOf(await call('PATCH', `/api/bookings/${id}`, { endsAt: at(4) }))).toEqual(CONFLICT);
  await expect(
    app.service('booking').upsert('code', { code: `${court} 1`, court, startsAt: at(1), endsAt: at(4) }),
  ).rejects.toMatchObject({ code: 'CONFLICT', message: BOOKED });
  const operations = [
    { op: 'update', id, data: { endsAt: at(4) } },
    { op: 'create', data: { court, startsAt: at(0), endsAt: at(9) } },
    { op: 'create', data: { court, startsAt: at(5), endsAt: at(9) } },
  ];
  const { body } = await call('POST', '/api/bookings/batch', { mode: 'perItem', operations });
  expect(body.data.map(({ status }: { status: number }) => status)).toEqual([409, 409, 201]);
  expect(body.data[0].error).toMatchObject({ message: BOOKED });
});

test('two records can exchange their times in one batch, if they leave their times first', async () => {
  const court = newCourt();
  const [a, b] = [(await book(court, 1, 2)).body.data.id, (await book(court, 2, 3)).body.data.id];
  const operations = [
    { op: 'update', id: a, data: { startsAt: at(7), endsAt: at(8) } },
    { op: 'update', id: b, data: { startsAt: at(1), endsAt: at(2) } },
    { op: 'update', id: a, data: { startsAt: at(2), endsAt: at(3) } },
  ];
  expect((await call('POST', '/api/bookings/batch', { operations })).status).toBe(200);
});

test('records outside the condition of a constraint do not conflict, and conflict once they meet it', async () => {
  const court = newCourt();
  const { id } = (await book(court, 1, 3, { status: 'cancelled', number: 1 })).body.data;
  expect((await book(court, 1, 3, { number: 1 })).status).toBe(201);
  expect(errorOf(await call('PATCH', `/api/bookings/${id}`, { status: 'confirmed' }))[0]).toBe(409);
});

test('deleted records do not conflict, and a restore that conflicts has the declared message', async () => {
  const court = newCourt();
  const { id } = (await book(court, 1, 3)).body.data;
  await call('DELETE', `/api/bookings/${id}`);
  expect((await book(court, 1, 3)).status).toBe(201);
  expect(errorOf(await call('POST', `/api/bookings/${id}/restore`))).toEqual(CONFLICT);
});

test('a check is a 422 with its message and its fields, also if the range of an exclusion is invalid', async () => {
  const expected = [422, 'VALIDATION_ERROR', ENDS, { endsAt: ENDS, startsAt: ENDS }];
  const court = newCourt();
  expect(errorOf(await book(court, 3, 1))).toEqual(expected);
  const { id } = (await book(court, 1, 3)).body.data;
  expect(errorOf(await call('PATCH', `/api/bookings/${id}`, { endsAt: at(0) }))).toEqual(expected);
  const atomic = await call('POST', '/api/bookings/batch', {
    operations: [{ op: 'update', id, data: { endsAt: at(0) } }],
  });
  expect(atomic.body.error.details).toEqual({ 'operations.0.endsAt': ENDS, 'operations.0.startsAt': ENDS });
  expect(errorOf(await call('POST', '/api/stays', { from: 5, to: 1 }))).toEqual([
    422,
    'VALIDATION_ERROR',
    'The request is invalid',
    { to: 'Must not be less than from' },
  ]);
});

test('a unique constraint without a message names its fields', async () => {
  const court = newCourt();
  await book(court, 1, 2, { number: 7 });
  expect(errorOf(await book(court, 3, 4, { number: 7 }))).toEqual([
    409,
    'CONFLICT',
    'This value is already taken',
    { court: 'Is already taken together with number', number: 'Is already taken together with court' },
  ]);
});

test('conditions compare numbers, decimals, lists of values and alternatives, and hidden fields are not named', async () => {
  const create = (values: object) => call('POST', '/api/stays', values);
  expect((await create({ price: '0.4' })).status).toBe(422);
  expect((await create({ price: '0.5', rate: 0.6 })).status).toBe(422);
  expect((await create({ price: '0.5', rate: 0.6, kind: "it's free" })).status).toBe(201);
  expect((await create({ price: '0.6', rate: 0.6 })).status).toBe(201);
  expect((await create({ rate: 0.6 })).status).toBe(201);
  expect((await create({ room: true, from: 1, to: 5 })).status).toBe(201);
  expect((await create({ room: false, from: 1, to: 5 })).status).toBe(201);
  expect((await create({ room: true, from: 5, to: 5 })).status).toBe(409);
  expect((await create({ from: 1, to: 5 })).status).toBe(201);
  const error = await app
    .service('stay')
    .create({ note: 'bad' })
    .catch((thrown) => thrown);
  expect([error.code, error.message, error.details]).toEqual(['VALIDATION_ERROR', 'Bad note', undefined]);
});

test('the OpenAPI document describes constraints at the responses that they cause', async () => {
  const { paths } = (await call('GET', '/api/openapi.json')).body;
  for (const { responses } of [paths['/api/bookings'].post, paths['/api/bookings/{id}'].patch]) {
    expect(responses['409'].description).toContain(`${BOOKED} (\`court\`, \`startsAt\`, \`endsAt\`)`);
    expect(responses['422'].description).toContain(ENDS);
  }
  expect(JSON.stringify(paths['/api/stays'].post)).not.toContain('Bad note');
});

test('constraints between records of a resource with tenant() compare the records of one organisation', async () => {
  const slot = defineResource('slot', {
    fields: { organisation: tenant(), desk: f.string(), from: f.integer(), to: f.integer(), code: f.string() },
    constraints: (c) => [c.exclude(['desk', c.range('from', 'to')]), c.unique(['code'])],
  });
  const own = await startTestApp({ resources: [defineUser(), slot], extensions: [organisations()] });
  const organisation = (own.app.service as (name: string) => { create(input: object): Promise<{ id: string }> })(
    'organisation',
  );
  const [a, b] = [await organisation.create({ name: 'A' }), await organisation.create({ name: 'B' })];
  const slots = own.app.service('slot');
  const values = { desk: 'one', from: 1, to: 5, code: 'x' };
  await slots.create({ organisation: a.id, ...values });
  await slots.create({ organisation: b.id, ...values });
  const error = await slots.create({ organisation: a.id, ...values, code: 'y' }).catch((thrown) => thrown);
  expect([error.code, Object.keys(error.details)]).toEqual(['CONFLICT', ['desk', 'from', 'to']]);
  const taken = await slots.create({ organisation: a.id, code: 'x' }).catch((thrown) => thrown);
  expect(taken.details).toEqual({ code: 'Is already taken' });
});

test.each<[string, (c: never) => unknown, string]>([
  [
    'a function that throws',
    () => {
      throw new Error('oops');
    },
    'constraints: the function threw an error: oops',
  ],
  ['no list', () => 'x', 'constraints: must return a list of c.exclude(…), c.check(…) or c.unique(…)'],
  ['another object', () => [{}], 'constraints[0]: must be created with c.exclude(…)'],
])('%s in constraints is a configuration error', (_, constraints, message) => {
  const resource = defineResource('thing', { fields: { title: f.string() }, constraints: constraints as never });
  expect(getStartupError({ resources: [resource] })).toContain(message);
});

test('configuration errors name the constraint, the field and the closest name', () => {
  const thing = defineResource('thing', {
    fields: {
      startsAt: f.date(),
      endsAt: f.date(),
      size: f.integer(),
      title: f.string(),
      kind: f.enum(['a', 'bee']),
      code: f.string().encrypted(),
      tags: f.array(f.string()),
      secret: f.password(),
    },
    constraints: (c) =>
      [
        c.check('endAt > startsAt' as 'endsAt > startsAt'),
        c.check('endsAt >> startsAt'),
        c.check('endsAt > size'),
        c.check({ kind: 'bea' }),
        c.check({ size: { above: 3 } } as never),
        c.check({ size: 'many' }),
        c.check({}),
        c.check({ code: 'x' }),
        c.check({ secret: 'x' }),
        c.check('endsAt > startsAt', ' '),
        c.unique(['tags']),
        c.unique([]),
        c.exclude(['title']),
        c.exclude([c.range('startsAt', 'size')]),
        c.exclude([c.range('title', 'title')]),
        c.exclude([c.range('startsAt', 'endsAt', '<>' as '[]')]),
      ] as const,
  });
  const text = getStartupError({ resources: [thing] });
  for (const line of [
    'constraints[0]: unknown field "endAt". Did you mean "endsAt"?',
    'constraints[1]: "endsAt >> startsAt" is not a comparison such as "endsAt > startsAt"; operators: <, <=, =, !=, >=, >',
    'constraints[2]: "endsAt > size" compares fields of different types',
    'constraints[3]: "kind" is never "bea". Did you mean "bee"?',
    'constraints[4]: "above" is not an operator of constraints',
    'constraints[5]: "size" is compared with a value of the wrong type',
    'constraints[6]: an empty filter names no field',
    'constraints[7]: "code" is encrypted, so that the database cannot compare its values',
    'constraints[8]: "secret" has values that constraints cannot compare: password',
    'constraints[9]: the message must be a text',
    'constraints[10]: "tags" has values that constraints cannot compare: array',
    'constraints[11]: unique() needs at least one field',
    'constraints[12]: an exclusion needs a range; for equal values only, declare unique() instead',
    'constraints[13]: "startsAt" and "size" form no range',
    'constraints[14]: "title" and "title" form no range',
    'constraints[15]: "<>" are not bounds of a range',
  ])
    expect(text).toContain(line);
});
