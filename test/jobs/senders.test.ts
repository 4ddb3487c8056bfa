import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ApiError,
  adminConsole,
  createApp,
  defineJob,
  defineMail,
  defineResource,
  defineUser,
  f,
  webhooks,
} from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';

const closed = defineMail('ticket-closed', {
  description: 'After a ticket was closed',
  input: z.strictObject({ title: z.string().min(1) }),
  texts: {
    en: ({ title }) => ({ subject: `Closed: ${title}`, text: 'We have closed your ticket.' }),
    de: async ({ title }) => ({ subject: `Erledigt: ${title}`, text: 'Ihre Anfrage ist erledigt.' }),
  },
  example: { title: 'The printer is on fire' },
});
const plain = defineMail('plain', { texts: { fr: () => ({ subject: 'Bonjour', text: 'Bonjour' }) } });
const undeclared = defineMail('undeclared', { texts: { en: () => ({ subject: 'No', text: 'No' }) } });

const ticket = defineResource('ticket', {
  fields: { title: f.string().required(), author: f.ref('user').owner() },
  policies: { create: 'authenticated', read: 'public', update: 'owner' },
  hooks: {
    async beforeCreate({ title }, { mail, webhooks: hooks, user }) {
      await mail.send({ to: 'team@example.com', subject: `New: ${title}`, text: 'A new ticket' });
      await mail.send(closed, { user: user!.id, title });
      await hooks.publish('ticket.opened', { title }, { owner: user!.id });
      if (title === 'refused') throw new ApiError('CONFLICT', 'No');
    },
    afterCreate: ({ title }, { mail }) => mail.send({ to: 'after@example.com', subject: title, text: 'Created' }),
  },
  routes: (route) => [
    route.post('/together', async ({ transaction, mail, webhooks: hooks, body }) => {
      await transaction(async (tx) => {
        await mail.send({ to: 'ctx@example.com', subject: 'ctx', text: 'ctx' });
        await tx.mail.send(closed, { to: 'tx@example.com', title: 'tx' });
        await hooks.publish('ticket.opened', { title: 'ctx' });
        await tx.webhooks.publish('ticket.opened', { title: 'tx' });
        if ((body as { fail?: boolean }).fail) throw new ApiError('CONFLICT', 'No');
      });
    }),
  ],
});
const send = defineJob('send', {
  async run({ mail, webhooks: hooks }) {
    await mail.send(closed, { to: 'job@example.com', title: 'job' });
    await hooks.publish('ticket.opened', { title: 'job' });
  },
});

const { app, env, call, person } = await startTestApp(
  {
    resources: [defineUser({ fields: { locale: f.string().optional() } }), ticket],
    extensions: [
      adminConsole(),
      webhooks({ events: { 'ticket.opened': { schema: z.strictObject({ title: z.string() }) } } }),
    ],
    mails: [closed, plain],
    jobs: [send],
  },
  { roles: 'all' },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const countAll = async () => {
  const text =
    'select (select count(*)::int from mails) as mails, (select count(*)::int from webhook_events) as events';
  return (await sql.query(text)).rows[0] as { mails: number; events: number };
};
const subjectsTo = async (address: string) => {
  await expect.poll(async () => (await app.captured.mails()).some(({ to }) => to === address)).toBe(true);
  return (await app.captured.mails()).filter(({ to }) => to === address).map(({ subject }) => subject);
};

test('e-mails and events of a before hook are stored with the record or not at all; those of an after hook follow it', async () => {
  const ada = await person('Ada');
  const before = await countAll();
  expect((await ada.call('POST', '/api/tickets', { title: 'refused' })).status).toBe(409);
  expect(await countAll()).toEqual(before);
  expect((await ada.call('POST', '/api/tickets', { title: 'kept' })).status).toBe(201);
  expect(await countAll()).toEqual({ mails: before.mails + 3, events: before.events + 1 });
  expect(await subjectsTo(ada.email)).toEqual(['Closed: kept']);
});

test('e-mails and events of a transaction are stored with it or not at all', async () => {
  const ada = await person('Ada');
  const before = await countAll();
  expect((await ada.call('POST', '/api/tickets/together', { fail: true })).status).toBe(409);
  expect(await countAll()).toEqual(before);
  expect((await ada.call('POST', '/api/tickets/together', {})).status).toBe(204);
  expect(await countAll()).toEqual({ mails: before.mails + 2, events: before.events + 2 });
});

test('app.mail takes a transaction as an argument, and otherwise belongs to that of the calling code', async () => {
  const before = await countAll();
  const hello = { to: 'ada@example.com', subject: 'Hello', text: 'Hello' };
  const after: (() => unknown)[] = [];
  const within = {
    database: findAssembly(app)!.platform.database,
    afterCommit: (work: () => unknown) => after.push(work),
  };
  await app.mail.send(hello, within);
  expect(after).toHaveLength(1);
  const rolledBack = app.transaction(async () => {
    await app.mail.send(hello);
    await app.mail.send(closed, { to: 'ada@example.com', title: 'x' });
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  expect(await countAll()).toEqual({ ...before, mails: before.mails + 1 });
});

test('a job sends e-mails and publishes events', async () => {
  await app.jobs.enqueue(send);
  expect(await subjectsTo('job@example.com')).toEqual(['Closed: job']);
});

test('an e-mail of the project is in the language of its user, or in the given one', async () => {
  const ada = await person('Ada');
  await app.service('user').update(ada.id, { locale: 'de-CH' } as never);
  await app.mail.send(closed, { user: ada.id, title: 'A' });
  await app.mail.send(closed, { user: { id: ada.id }, locale: 'en', title: 'B' });
  await app.mail.send(closed, { to: 'c@example.com', title: 'C' });
  await app.mail.send(plain, { to: 'c@example.com' });
  await expect.poll(() => subjectsTo(ada.email)).toHaveLength(2);
  expect((await subjectsTo(ada.email)).sort()).toEqual(['Closed: B', 'Erledigt: A']);
  await expect.poll(async () => (await subjectsTo('c@example.com')).sort()).toEqual(['Bonjour', 'Closed: C']);
});

test('an e-mail can go to a user whom the same transaction creates', async () => {
  await app.transaction(async (tx) => {
    const user = await tx
      .service('user')
      .create({ name: 'New', email: 'new@example.com', password: 'correct horse battery' });
    await tx.mail.send(closed, { user: user.id, title: 'Welcome' });
  });
  expect(await subjectsTo('new@example.com')).toEqual(['Closed: Welcome']);
});

test.each<[object, object]>([
  [{ title: 'x' }, { to: expect.stringContaining('Set either to') }],
  [{ to: 'a@example.com', user: 'x', title: 'x' }, { to: expect.stringContaining('Set either to') }],
  [{ user: '0'.repeat(24), title: 'x' }, { user: 'There is no user with this id' }],
  [{ user: "'", title: 'x' }, { user: 'There is no user with this id' }],
  [{ to: 'a@example.com, b@example.com', title: 'x' }, { to: 'Must be a single e-mail address' }],
  [{ to: 'a@example.com', title: '' }, { title: expect.any(String) }],
  [{ to: 'a@example.com', title: 'two\nlines' }, { subject: 'Must be a single line' }],
])('an e-mail of the project with %o is refused', async (about, details) => {
  await expect(app.mail.send(closed, about as never)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details });
});

test('an e-mail that is not declared is an error that names it', async () => {
  await expect(app.mail.send(undeclared, { to: 'a@example.com' })).rejects.toThrow(
    'there is no e-mail "undeclared" in createApp({ mails })',
  );
});

test('the preview shows e-mails of the project with their example', async () => {
  const { body } = await call('GET', '/console/api/mails/texts');
  expect(body.data[0]).toEqual({
    kind: 'ticket-closed',
    description: 'After a ticket was closed',
    origin: 'project',
    locales: ['en', 'de'],
  });
});

test('an event that is not declared is refused, and without webhooks() the error says what is missing', async () => {
  const { publish } = findAssembly(app)!.host.senders.webhooks;
  await expect(publish('ticket.lost', {})).rejects.toThrow('unknown event');
  const without = createApp({ resources: [defineUser()] }, env);
  await expect(findAssembly(without)!.host.senders.webhooks.publish('a.b', {})).rejects.toThrow(
    'webhooks.publish needs the extension webhooks(); add it to the extensions of createApp',
  );
  await without.close();
});
