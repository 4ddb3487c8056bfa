import { expect, test } from 'vitest';
import { defineExtension } from '../../src/extension/index.ts';
import { adminConsole, createApp, defineUser } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';
import { remindersExtension } from '../fixtures/reminders.ts';

/** `app.stored.texts(userId)`: the texts of the user's reminders in the table. */
const stored = defineExtension({
  name: 'stored',
  setup: ({ database }) => ({
    api: {
      async texts(userId: string) {
        const text = 'select text from reminders where user_id = $1 order by text';
        return (await database.read<[string]>({ text, values: [userId] })).flat();
      },
    },
  }),
});
const { api, app, clock, pushes, settle, signInAs } = await createTestApp((environment) =>
  createApp(
    {
      resources: [defineUser()],
      extensions: [remindersExtension({ maxRemindersPerUser: 3, welcome: 'Say hello' }), adminConsole(), stored],
    },
    environment,
  ),
);
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const WAIT = { timeoutMs: 60_000 };

test('a reminder is sent once, when it is due, and removed when it is old', async () => {
  const ada = await signInAs({ name: 'Ada' });
  await ada.addDevice();
  const { status, body } = await ada.api.post('/api/reminders', { text: 'Call Bob', dueAt: inAnHour() });
  expect({ status, body }).toMatchObject({ status: 201, body: { data: { text: 'Call Bob', sentAt: null } } });
  await clock.advance('1h');
  const sent = async () => (await pushes()).map(({ message }) => message.body);
  await expect.poll(sent).toContain('Call Bob');
  const list = async () => (await ada.api.get('/api/reminders')).body.data as { text: string; sentAt: string | null }[];
  expect((await list()).find(({ text }) => text === 'Call Bob')!.sentAt).not.toBeNull();
  // The relay has turned the registration into a reminder.
  expect((await list()).find(({ text }) => text === 'Say hello')!.sentAt).toBeNull();
  expect((await sent()).filter((text) => text === 'Call Bob')).toHaveLength(1);
  await clock.advance('31d');
  await settle(WAIT);
  // The welcome has become due meanwhile.
  await expect.poll(() => app.stored.texts(ada.id)).toEqual(['Say hello']);
});

test('the settings limit the reminders of a user, and a user cancels only their own', async () => {
  const [ada, bob] = await Promise.all([signInAs({ name: 'Ada' }), signInAs({ name: 'Bob' })]);
  await settle(WAIT);
  const create = () => ada.api.post('/api/reminders', { text: 'Buy milk', dueAt: inAnHour() });
  const { id } = (await create()).body.data;
  expect([(await create()).status, (await create()).status]).toEqual([201, 409]);
  expect((await bob.api.delete(`/api/reminders/${id}`)).status).toBe(404);
  expect((await ada.api.delete(`/api/reminders/${id}`)).status).toBe(204);
  expect((await api.get('/api/reminders')).status).toBe(401);
});

test('the console shows the reminders of an account, and an administrator cancels one', async () => {
  const ada = await signInAs({ name: 'Ada' });
  const { id } = (await ada.api.post('/api/reminders', { text: 'Buy milk', dueAt: inAnHour() })).body.data;
  const account = `/console/api/accounts/users/${ada.id}`;
  const headers = { 'sec-fetch-site': 'same-origin' };
  const { body } = await api.get(account, { headers });
  const panel = body.data.panels.find((each: { id: string }) => each.id === 'reminders');
  expect(panel.rows).toContainEqual(
    expect.objectContaining({ id, values: expect.objectContaining({ text: 'Buy milk' }) }),
  );
  const cancelled = await api.post(`${account}/panels/reminders/reminderCancelled`, { row: id }, { headers });
  expect(cancelled.status).toBeLessThan(300);
  expect((await ada.api.get('/api/reminders')).body.data).not.toContainEqual(expect.objectContaining({ id }));
});

test('the reminders of a deleted user are removed', async () => {
  const ada = await signInAs({ name: 'Ada' });
  await ada.api.post('/api/reminders', { text: 'Buy milk', dueAt: inAnHour() });
  await expect.poll(() => app.stored.texts(ada.id)).toEqual(['Buy milk', 'Say hello']);
  await app.service('user').delete(ada.id);
  await expect.poll(() => app.stored.texts(ada.id)).toEqual([]);
});
