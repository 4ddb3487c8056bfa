import type { ServerResponse } from 'node:http';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const { app, person } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ retrySchedule: ['1h', '1h'], pollMs: 50, disableAfterFailures: 2 })],
  },
  { roles: 'all' },
);
const opened: Receiver[] = [];
afterAll(() => Promise.all(opened.map((one) => one.close())));
const disabled: { webhook: { id: string }; reason: string }[] = [];
app.on('webhook.disabled', (payload) => void disabled.push(payload as (typeof disabled)[number]));

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
}
async function subscriber(name: string, more: object = {}): Promise<Subscriber> {
  const receiver = await startReceiver();
  opened.push(receiver);
  const who = await person(name);
  const body = { url: receiver.url, events: ['note.created'], ...more };
  return { who, receiver, id: (await who.call('POST', '/api/webhooks', body)).body.data.id };
}
const read = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}`)).body.data;
const log = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
const sendTest = async ({ who, id }: Subscriber) =>
  (await who.call('POST', `/api/webhooks/${id}/test`)).body.data as { status: string; error: string | null };
/** Creates a note and waits for the result of its first attempt. Returns the delivery. */
async function deliver(one: Subscriber) {
  const before = (await log(one)).length;
  await one.who.call('POST', '/api/notes', { text: 'x' });
  return vi.waitUntil(
    async () => {
      const list = await log(one);
      return list.length > before && list[0].attempts === 1 && list[0].status !== 'sending' && list[0];
    },
    { timeout: 60_000, interval: 20 },
  );
}
/** Responds with this status and `webhook-delivery`. */
const answer = (status: number, control: string | string[]) => (_: unknown, res: ServerResponse) =>
  void res.writeHead(status, { 'webhook-delivery': control }).end();

test.each([
  [200, 'disable', 'succeeded'],
  [503, 'Disable', 'failed'],
  [302, ' DISABLE , later', 'failed'],
])(
  'status %s with webhook-delivery: %s disables the endpoint as 410 does; the delivery has %s',
  async (status, control, result) => {
    const one = await subscriber('Ann');
    one.receiver.answer(answer(status, control));
    expect(await deliver(one)).toMatchObject({ status: result, statusCode: status, nextAttemptAt: null });
    expect(await read(one)).toMatchObject({ enabled: false, status: 'disabled', disabledReason: 'gone' });
    await vi.waitUntil(() => disabled.some(({ webhook }) => webhook.id === one.id));
    expect(disabled.filter(({ webhook }) => webhook.id === one.id)).toMatchObject([{ reason: 'gone' }]);
    const mails = await vi.waitUntil(
      async () => {
        const found = (await app.captured.mails()).filter(
          ({ to, subject }) => to === one.who.email && /disabled/.test(subject),
        );
        return found.length > 0 && found;
      },
      { timeout: 60_000 },
    );
    expect(mails).toMatchObject([{ text: expect.stringContaining('webhook-delivery: disable') }]);
  },
);

test('webhook-delivery: disable in the response to a test disables the endpoint, also after earlier successes', async () => {
  const one = await subscriber('Bob');
  await deliver(one);
  one.receiver.answer(answer(204, 'disable'));
  expect((await sendTest(one)).status).toBe('succeeded');
  expect(await read(one)).toMatchObject({ enabled: false, disabledReason: 'gone' });
});

test.each([
  [422, 'abort-message'],
  [500, 'ABORT-MESSAGE'],
  [303, 'unknown, abort-message'],
])(
  'status %s with webhook-delivery: %s ends the message, and the error says that the receiver asked for it',
  async (status, control) => {
    const one = await subscriber('Cy');
    one.receiver.answer(answer(status, control), 204);
    expect(await deliver(one)).toMatchObject({
      status: 'failed',
      statusCode: status,
      error: 'aborted by the receiver',
      nextAttemptAt: null,
      attemptLog: [{ statusCode: status, error: 'aborted by the receiver' }],
    });
    const { id } = (await log(one))[0];
    expect((await one.who.call('POST', `/api/webhooks/${one.id}/deliveries/${id}/retry`)).status).toBe(200);
    await vi.waitUntil(async () => (await log(one))[0].status === 'succeeded', { timeout: 60_000, interval: 20 });
  },
);

test('aborted messages do not count towards disabling the endpoint, do not slow it down, and keep the order', async () => {
  const one = await subscriber('Dan', { ordered: true });
  one.receiver.answer(answer(422, 'abort-message'));
  for (let i = 0; i < 4; i += 1) expect((await deliver(one)).status).toBe('failed');
  expect(await read(one)).toMatchObject({ enabled: true, consecutiveFailures: 0, status: 'active' });
  one.receiver.answer(204);
  expect((await deliver(one)).status).toBe('succeeded');
  expect(one.receiver.requests).toHaveLength(5);
});

test('abort-message on a success, other words and a 1xx response have no effect', async () => {
  const one = await subscriber('Eve');
  one.receiver.answer(answer(204, 'abort-message'));
  expect(await deliver(one)).toMatchObject({ status: 'succeeded', error: null });
  one.receiver.answer((_, res) => {
    res.writeEarlyHints({ link: '</a>; rel=preload', 'webhook-delivery': 'disable' });
    res.writeHead(204).end();
  });
  expect((await sendTest(one)).status).toBe('succeeded');
  for (const control of ['', 'disabled', 'disable; q=1', 'abort', '"disable"', 'x'.repeat(10_000)]) {
    one.receiver.answer(answer(500, control));
    expect((await sendTest(one)).error).toBe('status 500');
  }
  expect(await read(one)).toMatchObject({ enabled: true });
  one.receiver.answer(answer(500, ['later', 'disable']));
  await sendTest(one);
  expect(await read(one)).toMatchObject({ enabled: false, disabledReason: 'gone' });
});
