import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

/** The values that the hooks add to the next write. */
const base = { needed: 'x', closed: 'x' };
let filled: Record<string, unknown> = {};
const fill = (values: object) => ({ ...values, ...filled });

const long = (field = f.string()) => field.max(3, 'Secret text');
const order = defineResource('order', {
  fields: {
    title: f.string().max(10),
    pin: long().writeOnly(),
    risk: long().hidden(),
    needed: f.string().required('Secret text').hidden(),
    closed: long().required('Secret text').writableBy('none'),
    score: long().readOnly(),
    once: long().immutable(),
    staff: long().visibleTo('admin'),
    judged: long().visibleTo(({ doc }) => doc.title === 'open'),
    owned: long().visibleTo('owner'),
    byAdmin: long().writableBy('admin'),
    byFunction: long().writableBy(({ doc }) => doc.title === 'open'),
    parts: f.object({ a: long() }).hidden(),
    pass: f.password(),
    author: f.ref('user').owner(),
  },
  policies: { create: 'public', read: 'public', update: 'public' },
  hooks: { beforeCreate: fill as never, beforeUpdate: fill as never },
});

// Spied on before the app starts, because its log uses the write function that it finds at the start.
const written = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
afterAll(() => written.mockRestore());
const { app, call, person } = await startTestApp(
  { resources: [defineUser(), order] },
  { env: () => ({ LOG_LEVEL: 'error' }) },
);
const [ann, bob, admin] = [await person('Ann'), await person('Bob'), await person('Root', ['user', 'admin'])];
const logged = () => written.mock.calls.map(([text]) => String(text)).join('');
beforeEach(() => {
  filled = { ...base };
  written.mockClear();
});

const create = (as = ann.call, title = 'shut') => as('POST', '/api/orders', { title });
const change = async (as = ann.call, title = 'shut') => {
  const { id } = await app.service('order').create({ title, author: ann.id } as never);
  filled = { ...filled, ...next };
  return as('PATCH', `/api/orders/${id}`, { title });
};
let next: Record<string, unknown> = {};

const HIDDEN: [string, unknown][] = [
  ['risk', 'too long'],
  ['needed', ''],
  ['closed', ''],
  ['score', 'too long'],
  ['staff', 'too long'],
  ['judged', 'too long'],
  ['byAdmin', 'too long'],
  ['byFunction', 'too long'],
  ['parts', { a: 'too long' }],
  ['author', 'nobody'],
  ['nope', 'too long'],
];

test.each(HIDDEN)(
  'an invalid value that a hook sets in "%s" on create is an error of the hook',
  async (name, value) => {
    filled[name] = value;
    const { status, body } = await create();
    expect([status, body.error.code, body.error.details]).toEqual([500, 'INTERNAL', undefined]);
    expect(JSON.stringify(body)).not.toMatch(/Secret text|too long/);
    expect(logged()).toContain(`hooks.beforeCreate of \\"order\\" returned invalid values for \\"${name}\\"`);
    expect(logged()).not.toMatch(/Secret text|too long|nobody/);
  },
);

test.each([...HIDDEN, ['once', 'too long'], ['pass', 'correct horse battery']])(
  'an invalid value that a hook sets in "%s" on update is an error of the hook',
  async (name, value) => {
    next = { [name as string]: value };
    const { status, body } = await change();
    expect([status, body.error.code, body.error.details]).toEqual([500, 'INTERNAL', undefined]);
    expect(logged()).toContain(`hooks.beforeUpdate of \\"order\\" returned invalid values for \\"${name}\\"`);
    expect(logged()).not.toMatch(/Secret text|too long|nobody|correct horse/);
  },
);

test('an invalid value that a hook sets in a field that the client may see and set stays a 422', async () => {
  const wrong = async (name: string, response: Promise<{ status: number; body: { error: { details: object } } }>) => {
    const { status, body } = await response;
    expect([status, body.error.details]).toEqual([422, { [name]: expect.stringMatching(/Secret text|at most 10/) }]);
  };
  for (const [name, as] of [
    ['title', ann.call],
    ['pin', ann.call],
    ['once', ann.call],
    ['owned', ann.call],
    ['staff', admin.call],
    ['byAdmin', admin.call],
  ] as const) {
    filled = { ...base, [name]: 'much too long' };
    await wrong(name, create(as));
    filled = { ...base };
    next = { [name]: 'much too long' };
    // If the roles do not decide, the record before the change does.
    if (name !== 'once') await wrong(name, change(as));
  }
  filled = { ...base, byFunction: 'much too long' };
  await wrong('byFunction', create(ann.call, 'open'));
  for (const name of ['byFunction', 'judged']) {
    filled = { ...base };
    next = { [name]: 'much too long' };
    await wrong(name, change(ann.call, 'open'));
  }
  expect(logged()).toBe('');
});

test('"owner" refers to the record: an invalid value there is an error of the hook for any other user', async () => {
  next = { owned: 'too long' };
  expect((await change(bob.call)).status).toBe(500);
  filled = { ...base, owned: 'too long' };
  expect((await create(call)).status).toBe(500);
});

test('an error of the hook hides all errors of the client', async () => {
  filled = { ...base, title: 'much too long', risk: 'too long' };
  const { status, body } = await create();
  expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining('title')]);
});

test('code that acts as the system receives every error', async () => {
  filled = { risk: 'too long' };
  await expect(app.service('order').create({ title: 'x' } as never)).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { risk: 'Secret text', needed: 'Secret text', closed: 'Secret text' },
  });
});
