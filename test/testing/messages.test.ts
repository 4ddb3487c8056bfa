import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, expectTypeOf, test } from 'vitest';
import { createTestApp } from '../../src/testing/index.ts';
import { app } from './fixture.ts';

const testApp = await createTestApp(app);
const { signInAs, api, settle, clock } = testApp;

const requestReset = (email: string) => api.post('/api/auth/password/forgot', { email });

test('waitForMail returns each e-mail once, and mails lists all of them', async () => {
  const ada = await signInAs();
  await requestReset(ada.email);
  const first = await testApp.waitForMail({ to: ada.email, subject: /password/i });
  expect(first).toMatchObject({ to: ada.email, text: expect.stringContaining('token=') });
  expect((await testApp.mails()).filter(({ to }) => to === ada.email)).toEqual([first]);
  const again = testApp.waitForMail({ to: ada.email, timeoutMs: 200 });
  await expect(again).rejects.toThrow(
    `No new e-mail with to "${ada.email}" within 200 ms. Sent so far:\n  - to ${ada.email}:`,
  );
});

test('a push to a user with a device is captured; without a device, waitForPush says what is missing', async () => {
  const ada = await signInAs();
  await ada.api.post('/api/tasks', { title: 'Unheard' });
  await expect(testApp.waitForPush({ to: ada.id, timeoutMs: 200 })).rejects.toThrow(
    'A user needs a device to receive a push: await user.addDevice()',
  );
  const { id } = await ada.addDevice({ platform: 'android' });
  await ada.api.post('/api/tasks', { title: 'Ring' });
  const push = await testApp.waitForPush({ to: ada.id, title: /^New task/ });
  expect(push).toMatchObject({
    message: { title: 'New task: Ring' },
    devices: [{ id, platform: 'android', user: ada.id }],
  });
  expect(await testApp.pushes()).toHaveLength(1);
});

test('a receiver gets the events that its user may read, with verified signatures', async () => {
  const [ada, bob] = await Promise.all([signInAs(), signInAs()]);
  const received = await testApp.receiveWebhooks(ada, ['task.*']);
  await bob.api.post('/api/tasks', { title: 'Not for Ada' });
  const { body } = await ada.api.post('/api/tasks', { title: 'For Ada' });
  await ada.api.patch(`/api/tasks/${body.data.id}`, { done: true });
  const event = await received.next<{ done: boolean }>('task.updated');
  expectTypeOf(event.data.done).toEqualTypeOf<boolean>();
  expect(event).toMatchObject({ type: 'task.updated', status: 204, data: { id: body.data.id, done: true } });
  await settle();
  expect(received.events.map(({ type }) => type)).toEqual(['task.created', 'task.updated']);
});

test('next says which events arrived instead', async () => {
  const ada = await signInAs();
  const received = await testApp.receiveWebhooks(ada, ['task.*']);
  await expect(received.next('task.created', { timeoutMs: 50 })).rejects.toThrow('Nothing arrived.');
  received.respondWith(500);
  await ada.api.post('/api/tasks', { title: 'Refused' });
  await settle();
  await fetch(received.url, { method: 'POST', body: '{}' });
  const failed = received.next('task.created', { timeoutMs: 50 });
  await expect(failed).rejects.toThrow('No new event "task.created" within 50 ms.');
  await expect(failed).rejects.toThrow('  - task.created, answered 500');
  await expect(failed).rejects.toThrow('  - a request that is not a valid webhook: The header webhook-id is missing');
  expect(() => received.respondWith()).toThrow('respondWith needs at least one status');
});

test('an event after a jump of the clock is delivered soon', async () => {
  const ada = await signInAs();
  const received = await testApp.receiveWebhooks(ada, ['task.created']);
  await ada.api.post('/api/tasks', { title: 'Before' });
  await received.next();
  await clock.advance('1d');
  await ada.api.post('/api/tasks', { title: 'After' });
  expect((await received.next()).data.title).toBe('After');
  await clock.reset();
});

test('an endpoint that the app refuses is an error', async () => {
  const ada = await signInAs({ name: 'Ada' });
  await expect(testApp.receiveWebhooks(ada, ['nothing.*'])).rejects.toThrow(
    /could not create an endpoint for nothing\.\*: 422 .*VALIDATION_ERROR/,
  );
});

test('settle waits for events, e-mails, pushes and deliveries', async () => {
  const ada = await signInAs();
  await ada.addDevice();
  const received = await testApp.receiveWebhooks(ada, ['task.*']);
  await Promise.all(Array.from({ length: 20 }, (_, i) => ada.api.post('/api/tasks', { title: `Task ${i}` })));
  await requestReset(ada.email);
  await settle();
  expect(received.events).toHaveLength(20);
  expect((await testApp.mails()).filter(({ to }) => to === ada.email)).toHaveLength(1);
});

test('settle names the work that is left', async () => {
  const ada = await signInAs();
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  await ada.api.post('/api/webhooks', { url, events: ['task.*'] });
  const request = once(silent, 'request');
  await ada.api.post('/api/tasks', { title: 'No answer' });
  await request;
  await expect(settle({ timeoutMs: 50 })).rejects.toThrow(
    'The app still has work after 50 ms: webhook_deliveries: 1. If the work needs longer, pass settle({ timeoutMs })',
  );
  silent.closeAllConnections();
  silent.close();
  await settle();
});
