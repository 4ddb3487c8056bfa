import { expect, test, vi } from 'vitest';
import type { ExtensionHost } from '../../../src/declare/extension.ts';
import { createSecurityListeners } from '../../../src/extensions/security-mails/listeners.ts';
import { securityMailsSettings } from '../../../src/extensions/security-mails/settings.ts';
import { defineExtension, securityMails } from '../../../src/index.ts';
import { CHROME, HOME, startSecurityApp } from './security-app.ts';

/** The events that send e-mails, with what they add to user and address. */
const EVENTS: Record<string, object> = {
  'auth.password_changed': {},
  'auth.password_reset': {},
  'security.two_factor_enabled': {},
  'security.two_factor_disabled': { reason: 'user' },
  'security.recovery_code_used': { remaining: 3 },
  'security.identity_linked': { provider: 'google' },
  'security.identity_removed': { provider: 'google' },
  'security.passkey_added': {},
  'security.passkey_removed': {},
};

/** Returns the kinds of the e-mails that are queued for each event and for a new device. */
async function queuedKinds(options: object): Promise<string[]> {
  const queued: string[] = [];
  const host = {
    database: { write: async () => [[true, true]] },
    events: { emit: () => undefined },
    log: { error: (fields: object) => queued.push(JSON.stringify(fields)) },
    mail: { sendComposed: async (kind: string) => void queued.push(kind) },
  };
  const { listeners } = createSecurityListeners(
    host as never,
    { table: 'users' } as never,
    securityMailsSettings.parse(options),
  );
  const about = { user: { id: 'ann' }, userId: 'ann', ip: '203.0.113.7', userAgent: '', method: 'password' };
  for (const [name, listener] of Object.entries(listeners))
    await (listener as (payload: object) => Promise<void>)({ ...about, ...EVENTS[name] });
  return [...new Set(queued)].sort();
}

const ALL = [
  'identity-linked',
  'identity-removed',
  'new-device',
  'passkey-added',
  'passkey-removed',
  'password-changed',
  'recovery-code-used',
  'two-factor-disabled',
  'two-factor-enabled',
];

test.each<[object, string[]]>([
  [{}, []],
  [{ newDevice: false }, ['new-device']],
  [{ passwordChanged: false }, ['password-changed']],
  [{ twoFactor: false }, ['two-factor-disabled', 'two-factor-enabled']],
  [{ recoveryCode: false }, ['recovery-code-used']],
  [{ identities: false }, ['identity-linked', 'identity-removed']],
  [{ passkeys: false }, ['passkey-added', 'passkey-removed']],
])('the settings %j switch off exactly the e-mails %j', async (options, off) => {
  expect(await queuedKinds(options)).toEqual(ALL.filter((kind) => !off.includes(kind)));
});

test('a failure to queue is logged, and a process that stops waits for e-mails that are being queued', async () => {
  const logged: object[] = [];
  let finishQueueing = () => {};
  const host = {
    log: { error: (fields: object) => void logged.push(fields) },
    mail: {
      sendComposed: vi
        .fn()
        .mockRejectedValueOnce(new Error('no database'))
        .mockImplementation(() => new Promise<void>((resolve) => (finishQueueing = resolve))),
    },
  };
  const settings = securityMailsSettings.parse({});
  const { listeners, worker } = createSecurityListeners(host as never, { table: 'users' } as never, settings);
  const event = { userId: 'ann', ip: '203.0.113.7' };
  await listeners['security.passkey_added'](event);
  expect(logged).toEqual([{ err: new Error('no database') }]);
  let stopped = false;
  void listeners['security.passkey_added'](event);
  const stopping = worker.stop().then(() => (stopped = true));
  await Promise.resolve();
  expect(stopped).toBe(false);
  finishQueueing();
  await stopping;
});

let host: ExtensionHost;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host = given;
    return {};
  },
});
const extensions = [securityMails({ maxPerDay: 2, newDevice: false }), probe];
const { events, signIn, untilDevices, untilSubjects, newcomer, database } = await startSecurityApp(extensions, {
  settings: { rateLimit: { enabled: true, global: false, auth: false } },
});

test('a user gets at most maxPerDay e-mails of a kind, and another kind is not affected', async () => {
  const [ann, ben] = [await newcomer(), await newcomer()];
  for (let i = 0; i < 5; i++) host.events.emit('auth.password_changed', { user: ann, ip: '203.0.113.7' });
  const unsent = async () => (await database.query('select from mails where finished_at is null')).rowCount;
  await untilSubjects(ann, ['Your password was changed', 'Your password was changed']);
  await expect.poll(unsent, { timeout: 60_000 }).toBe(0);
  host.events.emit('security.passkey_removed', { userId: ann.id, ip: '203.0.113.7' });
  host.events.emit('auth.password_changed', { user: ben, ip: '203.0.113.7' });
  await untilSubjects(ben, ['Your password was changed']);
  await untilSubjects(ann, [
    'Your password was changed',
    'Your password was changed',
    'A passkey was removed from your account',
  ]);
});

test('with its e-mail switched off, a new device is still recorded and emits its event', async () => {
  const cy = await newcomer();
  await signIn(cy, HOME);
  await untilDevices(cy, 1);
  await signIn(cy, { ...HOME, userAgent: CHROME });
  await expect.poll(() => events.map(([, { userId }]) => userId), { timeout: 60_000 }).toEqual([cy.id]);
  host.events.emit('auth.password_changed', { user: cy, ip: HOME.ip });
  await untilSubjects(cy, ['Your password was changed']);
});
