import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const seen: string[] = [];

const order = defineResource('order', {
  fields: {
    number: f.string().required().unique().filterable(),
    items: f.integer().default(0),
    buyer: f.ref('user').owner(),
  },
  hooks: {
    async beforeCreate(values, { service }) {
      if (values.number.startsWith('noted')) await service('note').create({ text: `before ${values.number}` });
    },
    async afterCreate(record, { service }) {
      seen.push(`afterCreate ${record.number}`);
      if (record.number === 'throws') throw new Error('after the fact');
      // An after hook sees only committed data, like any other reader.
      const { meta } = await service('order').list({ number: record.number });
      if (record.number.startsWith('noted')) seen.push(`committed ${meta.total}`);
    },
  },
  routes: (route) => [
    route.post('/pair', { policy: 'authenticated' }, async ({ transaction, user }) =>
      transaction(async (tx) => {
        const first = await tx.service('order').create({ number: 'pair-1' }, { user });
        await tx.service('order').create({ number: 'pair-1' }, { user });
        return first;
      }),
    ),
    route.post('/elsewhere', { policy: 'authenticated' }, async ({ transaction, service }) =>
      transaction(async (tx) => {
        const first = await tx.service('order').create({ number: 'elsewhere' });
        return service('order').update(first.id, { items: 1 });
      }),
    ),
  ],
});

const note = defineResource('note', {
  fields: { text: f.string().required().filterable() },
  policies: { list: 'public', create: 'admin' },
});

const { app, env, person, call } = await startTestApp(
  {
    resources: [defineUser(), order, note],
    listeners: (one) => {
      one.on('order.created', ({ record }: { record: { number: string } }) => void seen.push(`event ${record.number}`));
      one.on('note.created', ({ record }: { record: { text: string } }) => void seen.push(`event ${record.text}`));
    },
  },
  { roles: 'all' },
);
const orders = app.service('order');
const notes = app.service('note');

test('all changes of a transaction become visible together after its commit', async () => {
  const made = await app.transaction(async (tx) => {
    const one = await tx.service('order').create({ number: 'a-1' });
    await tx.service('note').create({ text: 'with a-1' });
    expect((await call('GET', '/api/notes?text=with%20a-1')).body.meta.total).toBe(0);
    expect((await tx.service('order').read(one.id)).number).toBe('a-1');
    expect((await tx.service('order').list({ number: 'a-1' })).meta.total).toBe(1);
    expect(seen).not.toContain('event a-1');
    return tx.service('order').update(one.id, { items: 3 });
  });
  expect(made.items).toBe(3);
  expect(await orders.read(made.id)).toMatchObject({ number: 'a-1', items: 3 });
  expect((await notes.list({ text: 'with a-1' })).meta.total).toBe(1);
});

test('events and after hooks follow the commit, in the order of the changes', async () => {
  seen.length = 0;
  await app.transaction(async (tx) => {
    await tx.service('order').create({ number: 'noted-1' });
    await tx.service('order').create({ number: 'noted-2' });
    expect(seen).toEqual([]);
  });
  expect(seen).toEqual([
    'event before noted-1',
    'event noted-1',
    'afterCreate noted-1',
    'committed 1',
    'event before noted-2',
    'event noted-2',
    'afterCreate noted-2',
    'committed 1',
  ]);
});

test('an error rolls back every change, including those of hooks, and no event is sent', async () => {
  seen.length = 0;
  const failed = app.transaction(async (tx) => {
    await tx.service('order').create({ number: 'noted-undone' });
    await tx.service('note').create({ text: 'undone' });
    throw new ApiError('CONFLICT', 'No');
  });
  await expect(failed).rejects.toMatchObject({ code: 'CONFLICT', message: 'No' });
  expect((await orders.list({ number: 'noted-undone' })).meta.total).toBe(0);
  expect((await notes.list({ text: 'undone' })).meta.total).toBe(0);
  expect((await notes.list({ text: 'before noted-undone' })).meta.total).toBe(0);
  expect(seen).toEqual([]);
});

test('a failed change is rolled back alone: code can catch its error and continue', async () => {
  await orders.create({ number: 'taken' });
  await app.transaction(async (tx) => {
    await tx.service('order').create({ number: 'kept' });
    for (const number of ['taken', 'kept']) {
      await expect(tx.service('order').create({ number })).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { number: 'Is already taken' },
      });
    }
    await tx.service('order').create({ number: 'kept-2' });
  });
  expect((await orders.list({ 'number[in]': 'kept,kept-2' })).meta.total).toBe(2);
});

test('a list that fails in a transaction takes no change with it: code can catch its error and continue', async () => {
  const blocker = new Client({ connectionString: env.DATABASE_URL! });
  await blocker.connect();
  onTestFinished(() => blocker.end());
  const cancelBlocked = `select pg_cancel_backend(pid) from pg_locks where not granted and relation = 'users'::regclass`;
  const { id } = await app.transaction(async (tx) => {
    const created = await tx.service('order').create({ number: 'before a failed list' });
    await blocker.query('begin; lock table users in access exclusive mode');
    const listed = expect(tx.service('user').list()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await vi.waitUntil(async () => (await blocker.query(cancelBlocked)).rowCount);
    await listed;
    await blocker.query('rollback');
    await tx.service('note').create({ text: 'after a failed list' });
    return created;
  });
  expect((await orders.read(id))?.number).toBe('before a failed list');
  expect((await notes.list({ text: 'after a failed list' })).meta.total).toBe(1);
});

test('concurrent changes in one transaction do not interfere with each other', async () => {
  const numbers = Array.from({ length: 20 }, (_, i) => `side-${i}`);
  const results = await app.transaction((tx) =>
    Promise.allSettled([...numbers, 'side-3'].map((number) => tx.service('order').create({ number }))),
  );
  expect(results.filter((one) => one.status === 'fulfilled')).toHaveLength(20);
  expect((await orders.list({ 'number[in]': numbers.join(',') })).meta.total).toBe(20);
});

test('two transactions that change one record run one after the other, and no change is lost', async () => {
  const { id } = await orders.create({ number: 'counter' });
  const add = () =>
    app.transaction(async (tx) => {
      const service = tx.service('order');
      const { items } = await service.lock(id);
      return service.update(id, { items: items + 1 });
    });
  await Promise.all(Array.from({ length: 10 }, add));
  expect((await orders.read(id)).items).toBe(10);
});

test('lock needs a transaction, and finds only records that its caller may read', async () => {
  const { id } = await orders.create({ number: 'to lock' });
  await expect(orders.lock(id)).rejects.toThrow('needs a transaction');
  await app.transaction(async (tx) => {
    const service = tx.service('order');
    expect(await service.lock(id)).toMatchObject({ id, number: 'to lock' });
    await expect(service.lock('0'.repeat(24))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(service.lock('none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(service.lock(id, { user: undefined })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

test("calls as a user in a transaction apply the user's policies", async () => {
  const ann = await person('Ann');
  const user = await app.service('user').read(ann.id);
  const refused = app.transaction((tx) => tx.service('note').create({ text: 'not mine' }, { user }));
  await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const own = await app.transaction((tx) => tx.service('order').create({ number: 'of Ann' }, { user }));
  expect(own.buyer).toBe(ann.id);
});

test('a custom route can use transactions too, and its client gets the error of the failed change', async () => {
  const ben = await person('Ben');
  const { status, body } = await ben.call('POST', '/api/orders/pair');
  expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
  expect((await orders.list({ number: 'pair-1' })).meta.total).toBe(0);
});

test('a push of a transaction is sent after the commit, and not at all after a rollback', async () => {
  const pushes = async (title: string) =>
    (await app.captured.pushes()).filter(({ message }) => (message as { title?: string }).title === title).length;
  const cleo = await person('Cleo');
  const token = { token: 'token-of-cleo-0123456789', platform: 'android' };
  expect((await cleo.call('POST', '/api/auth/devices', token)).status).toBe(201);
  await expect(
    app.transaction(async (tx) => {
      await tx.push.enqueue({ to: cleo.id, title: 'Undone' });
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await app.transaction(async (tx) => {
    await tx.push.enqueue({ to: cleo.id, title: 'Done' });
    expect(await pushes('Done')).toBe(0);
  });
  await vi.waitUntil(async () => (await pushes('Done')) === 1, { timeout: 60_000 });
  expect(await pushes('Undone')).toBe(0);
});

test('services outside the transaction are refused in it immediately, because they would wait for its locks', async () => {
  const { id } = await orders.create({ number: 'locked' });
  const wrong = 'app.service(…) uses another connection, so it cannot be called inside a transaction; use tx.service';
  await app.transaction(async (tx) => {
    await tx.service('order').update(id, { items: 1 });
    await expect(orders.update(id, { items: 2 })).rejects.toThrow(wrong);
    await expect(app.service('order').read(id)).rejects.toThrow(wrong);
    await expect(notes.list()).rejects.toThrow(wrong);
    await expect(Promise.resolve().then(() => notes.count())).rejects.toThrow(wrong);
    await tx.service('order').update(id, { items: 3 });
  });
  expect((await orders.read(id)).items).toBe(3);
  const dan = await person('Dan');
  expect((await dan.call('POST', '/api/orders/elsewhere')).status).toBe(500);
  expect(await orders.count({ number: 'elsewhere' })).toBe(0);
});

test('work started without awaiting in a transaction can use the services of the app once the transaction has ended', async () => {
  const ended = Promise.withResolvers<void>();
  const after = await app.transaction(async (tx) => {
    const { id } = await tx.service('order').create({ number: 'goes on' });
    return { read: ended.promise.then(() => orders.read(id)) };
  });
  ended.resolve();
  expect((await after.read).number).toBe('goes on');
});

test('calls on a transaction after its end are refused', async () => {
  let late: (() => Promise<unknown>) | undefined;
  await app.transaction(async (tx) => {
    late = () => tx.service('order').create({ number: 'late' });
  });
  await expect(late!()).rejects.toThrow('This transaction has ended');
  expect((await orders.list({ number: 'late' })).meta.total).toBe(0);
});

test('the error for an unknown resource is the same inside and outside of a transaction', async () => {
  const transactionResult = app.transaction(async (tx) => (tx.service as (name: string) => unknown)('nope'));
  await expect(transactionResult).rejects.toThrow('there is no resource "nope"');
});

test('a failing after hook does not make a stored record look failed', async () => {
  const ann = await person('Ann');
  const { status, body } = await ann.call('POST', '/api/orders', { number: 'throws' });
  expect(status).toBe(201);
  expect((await orders.read(body.data.id)).number).toBe('throws');
  expect((await call('GET', '/api/notes')).status).toBe(200);
});
