import { expect, test } from 'vitest';
import { MAX_DEVICES } from '../../../src/extensions/security-mails/sql.ts';
import { createUnseenDevicesSweep } from '../../../src/extensions/security-mails/user-data.ts';
import { audit, securityMails } from '../../../src/index.ts';
import type { Executor } from '../../../src/platform/data/postgres/queryable.ts';
import { CHROME, FIREFOX, HOME, PASSWORD, SAFARI, startSecurityApp } from './security-app.ts';

const NEW_SIGN_IN = 'New sign-in to your account';
const { call, app, database, events, signIn, mailsTo, devicesOf, untilDevices, untilSubjects, newcomer, headersOf } =
  await startSecurityApp([securityMails(), audit()]);
const eventsOf = ({ id }: { id: string }) => events.filter(([, { userId }]) => userId === id).map(([, event]) => event);
const AWAY = { ip: '198.51.100.4', userAgent: SAFARI };

test('a sign-in from another browser or network sends an e-mail, and emits an event', async () => {
  const ann = await newcomer();
  await signIn(ann, HOME);
  await untilDevices(ann, 1);
  await signIn(ann, AWAY);
  await untilSubjects(ann, [NEW_SIGN_IN]);
  const [mail] = await mailsTo(ann);
  expect(mail!.text).toMatch(
    /^There was a sign-in to your account at app\.example\.com with Safari on iOS, on 20\d\d-\d\d-\d\d at \d\d:\d\d UTC from 198\.51\.100\.4\./,
  );
  expect(eventsOf(ann)).toEqual([{ userId: ann.id, ip: AWAY.ip, device: 'Safari on iOS', method: 'password' }]);
  await signIn(ann, { ...HOME, userAgent: CHROME });
  await signIn(ann, { ...HOME, ip: '2001:db8::1' });
  await untilSubjects(ann, Array(3).fill(NEW_SIGN_IN));
});

test('the first device of a user is recorded without an e-mail; neither does a known device cause one', async () => {
  const ben = await newcomer();
  await signIn(ben, HOME);
  await untilDevices(ben, 1);
  await signIn(ben, HOME);
  await signIn(ben, { ip: '203.0.99.1', userAgent: FIREFOX.replaceAll('133', '140') });
  // The e-mail of this sign-in is queued last.
  await signIn(ben, AWAY);
  await untilSubjects(ben, [NEW_SIGN_IN]);
  expect(eventsOf(ben).map(({ device }) => device)).toEqual(['Safari on iOS']);
  expect(await devicesOf(ben)).toHaveLength(2);
});

test('the device of the registration is known, so a first login from another device is reported', async () => {
  const email = 'registered@example.com';
  const body = { name: 'Cy', email, password: PASSWORD };
  const { id } = (await call('POST', '/api/auth/register', body, headersOf(HOME))).body.data.user;
  await untilDevices({ id }, 1);
  await signIn({ email }, HOME);
  await signIn({ email }, AWAY);
  await untilSubjects({ email }, [NEW_SIGN_IN]);
  expect(await devicesOf({ id })).toHaveLength(2);
});

test('many simultaneous sign-ins of a new device send one e-mail', async () => {
  const eve = await newcomer();
  await signIn(eve, HOME);
  await untilDevices(eve, 1);
  await Promise.all(Array.from({ length: 12 }, () => signIn(eve, AWAY)));
  await untilSubjects(eve, [NEW_SIGN_IN]);
  await signIn(eve, { ...AWAY, userAgent: CHROME });
  await untilSubjects(eve, [NEW_SIGN_IN, NEW_SIGN_IN]);
  expect(eventsOf(eve)).toHaveLength(2);
});

test('the database contains neither the address nor the browser of a known device', async () => {
  const fay = await newcomer();
  await signIn(fay, HOME);
  await untilDevices(fay, 1);
  expect((await devicesOf(fay))[0]).toEqual({
    user_id: fay.id,
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    first_seen_at: expect.any(Date),
    last_seen_at: expect.any(Date),
  });
});

/** Gives a user known devices that were last seen days ago. */
const addDevices = (id: string, daysAgo: readonly number[]) =>
  database.query(
    `insert into known_devices (user_id, fingerprint, first_seen_at, last_seen_at)
     select $1, 'device-' || days, now() - interval '400 days', now() - days * interval '1 day' from unnest($2::float8[]) days`,
    [id, daysAgo],
  );
const fingerprintsOf = async (person: { id: string }) =>
  (await devicesOf(person)).map(({ fingerprint }) => fingerprint);

test('a user has at most 100 known devices: a new one replaces the oldest', async () => {
  const gus = await newcomer();
  await addDevices(
    gus.id,
    Array.from({ length: MAX_DEVICES }, (_, i) => i + 1),
  );
  await signIn(gus, HOME);
  await untilSubjects(gus, [NEW_SIGN_IN]);
  const left = await fingerprintsOf(gus);
  expect(left).toHaveLength(MAX_DEVICES);
  expect(left.slice(0, 2)).toEqual(['device-99', 'device-98']);
  await signIn(gus, HOME);
  await signIn(gus, AWAY);
  await untilSubjects(gus, [NEW_SIGN_IN, NEW_SIGN_IN]);
  expect((await fingerprintsOf(gus)).slice(0, 1)).toEqual(['device-98']);
});

test('devices that were not seen for 180 days are removed, except for the newest one of a user', async () => {
  const [hal, ida] = [await newcomer(), await newcomer()];
  await addDevices(hal.id, [1, 179, 181, 300]);
  await addDevices(ida.id, [200, 300, 400]);
  const executor = {
    write: async ({ text, values }) => (await database.query({ text, values, rowMode: 'array' })).rows,
  } as Executor;
  await createUnseenDevicesSweep(executor).run();
  expect(await fingerprintsOf(hal)).toEqual(['device-179', 'device-1']);
  expect(await fingerprintsOf(ida)).toEqual(['device-200']);
  await signIn(ida, HOME);
  await untilSubjects(ida, [NEW_SIGN_IN]);
});

test('a deleted user has no known devices, and a sign-in that is still being recorded adds none', async () => {
  const jon = await newcomer();
  await addDevices(jon.id, [1, 2]);
  await app.service('user').delete(jon.id);
  expect(await devicesOf(jon)).toEqual([]);
  const kim = await newcomer();
  await addDevices(kim.id, [1]);
  await Promise.all([signIn(kim, HOME), signIn(kim, AWAY)]).then(() => app.service('user').delete(kim.id));
  const lou = await newcomer();
  await signIn(lou, HOME);
  await untilDevices(lou, 1);
  expect(await devicesOf(kim)).toEqual([]);
});

test('the audit trail records a new device', async () => {
  const mia = await newcomer();
  await signIn(mia, HOME);
  await untilDevices(mia, 1);
  await signIn(mia, AWAY);
  const entry = async () =>
    (
      await database.query(
        `select record_id, details from audit_entries where action = 'security.new_device' and record_id = $1`,
        [mia.id],
      )
    ).rows;
  await expect
    .poll(entry, { timeout: 60_000 })
    .toEqual([{ record_id: mia.id, details: { device: 'Safari on iOS', method: 'password' } }]);
});
