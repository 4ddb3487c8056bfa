// Devices of deleted or inactive users. No relay runs here, so nothing cleans up after a deletion.
import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import type { Transport } from '../../../src/push/message/transport.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const sent: (string | null)[] = [];
let onSend: ((id: string | null) => Promise<unknown>) | undefined;
const transport: Transport = {
  name: 'fake',
  async send(_message, devices) {
    sent.push(...devices.map((device) => device.id));
    const after = onSend;
    onSend = undefined;
    if (after === undefined) return devices.map(() => ({ ok: true }));
    await after(devices[0]!.id);
    return devices.map(() => ({ ok: false, error: 'busy', retryable: true, retryAfterMs: 1 }));
  },
};
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [transport],
    settings: { auth: { password: { logN: 4, r: 8, p: 1 }, devicesFollowSessions: false }, push: { waitMs: 60_000 } },
  },
  { roles: ['web', 'push-worker'] },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
beforeEach(() => void sent.splice(0));

let count = 0;
async function register(who: Person): Promise<string> {
  const token = `token-of-a-device-${++count}-0123456789`;
  return (await who.call('POST', '/api/auth/devices', { token, platform: 'ios' })).body.data.id;
}
const disable = ({ id }: Person) => app.service('user').update(id, { status: 'disabled' });

test.each<[string, (who: Person, device: string) => Promise<unknown>]>([
  ['was deleted a moment ago', ({ id }) => app.service('user').delete(id)],
  ['is disabled', (who) => disable(who)],
  [
    // Earlier versions left the removal of devices to the relay.
    'is gone while the rows of their devices are still there',
    async ({ id }) => sql.query('delete from users where id = $1', [id]),
  ],
])('a push reaches no device of a user who %s, however the device is addressed', async (_who, end) => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  const [gone, kept] = [await register(ann), await register(ben)];
  await end(ann, gone);
  const toUsers = await app.push.send({ to: [ann.id, ben.id], title: 'Hi' });
  expect(toUsers).toMatchObject({ status: 'sent', devices: 1, results: [{ device: kept, ok: true }] });
  const toDevices = await app.push.send({ deviceIds: [gone, kept], title: 'Hi' });
  expect(toDevices).toMatchObject({ status: 'sent', devices: 1, results: [{ device: kept, ok: true }] });
  expect(await app.push.send({ to: ann.id, title: 'Hi' })).toMatchObject({ status: 'no-devices', devices: 0 });
  expect(sent).toEqual([kept, kept]);
});

test('a user who is enabled again receives pushes again', async () => {
  const ann = await person('Ann');
  const device = await register(ann);
  await disable(ann);
  expect((await app.push.send({ to: ann.id, title: 'Hi' })).status).toBe('no-devices');
  await app.service('user').update(ann.id, { status: 'active' });
  expect((await app.push.send({ to: ann.id, title: 'Hi' })).results).toEqual([{ device, ok: true }]);
});

test.each<[string, (who: Person) => Promise<unknown>]>([
  ['deleted', ({ id }) => app.service('user').delete(id)],
  ['disabled', (who) => disable(who)],
])('a push is not retried for a user who was %s in the meantime', async (_how, end) => {
  const ann = await person('Ann');
  const device = await register(ann);
  onSend = () => end(ann);
  const { id } = await app.push.send({ to: ann.id, title: 'Hi' });
  const result = async () => (await sql.query('select ok, error from push_results where push_id = $1', [id])).rows;
  await expect
    .poll(result, { timeout: 60_000 })
    .toEqual([{ ok: false, error: 'The device is no longer registered, or its user is not active' }]);
  expect(sent).toEqual([device]);
});
