import { describeUserAgent, type Host, type ResourceGateway, type RunningWorker } from '../../extension/index.ts';
import { createDeviceRecorder } from './devices.ts';
import { createSecurityMailQueue } from './mails.ts';
import type { SecurityMailsSettings } from './settings.ts';

/** The payload of an event about an account whose record is in the payload. */
interface AccountEvent {
  user: { id: string };
  ip: string;
}

/** The payload of `auth.registered`. `userAgent` is undefined if another person created the account, such as an admin. */
interface Registration extends AccountEvent {
  userAgent?: string | undefined;
}

/** The payload of `auth.login`. */
interface Login extends AccountEvent {
  method: string;
  userAgent: string;
}

/** The payload of an event about a user's ways to sign in. */
interface CredentialEvent {
  userId: string;
  ip: string;
  /** The administrator who made the change; null for the system. Left out: the user made it. */
  by?: string | null;
}

/** The address that the e-mail names: the user does not learn the address of an administrator. */
const addressToName = ({ userId, by = userId, ip }: CredentialEvent) => (by === userId ? ip : '');

/** Listeners whose work goes on after the event. A process that stops waits for it. */
interface BackgroundListeners extends RunningWorker {
  /** Returns a listener that does the work and logs its failure: the request that caused the event does not depend on it. */
  listen<Payload>(work: (payload: Payload) => Promise<void>): (payload: Payload) => Promise<void>;
}

function createBackgroundListeners(log: Host['log']): BackgroundListeners {
  const running = new Set<Promise<void>>();
  return {
    listen: (work) => (payload) => {
      const done = work(payload)
        .catch((error) => log.error({ err: error }, 'Could not queue an e-mail about the security of an account'))
        .finally(() => running.delete(done));
      running.add(done);
      return done;
    },
    async stop() {
      await Promise.all(running);
    },
  };
}

/** Creates the listeners that queue the e-mails, by event, and the worker whose `stop` waits for them. */
export function createSecurityListeners(
  host: Pick<Host, 'database' | 'events' | 'log' | 'mail'>,
  users: ResourceGateway,
  settings: SecurityMailsSettings,
) {
  const { listen, stop } = createBackgroundListeners(host.log);
  const recordDevice = createDeviceRecorder(host, users);
  const queueMail = createSecurityMailQueue(host, settings);
  const passwordChanged = listen(({ user, ip }: AccountEvent) => queueMail('password-changed', user.id, { ip }));
  const listeners = {
    'auth.registered': listen(async ({ user, ip, userAgent }: Registration) => {
      if (userAgent === undefined) return;
      await recordDevice({ userId: user.id, device: describeUserAgent(userAgent), ip });
    }),
    'auth.login': listen(async ({ user, ip, method, userAgent }: Login) => {
      const device = describeUserAgent(userAgent);
      if (!(await recordDevice({ userId: user.id, device, ip }))) return;
      host.events.emit('security.new_device', { userId: user.id, ip, device, method });
      await queueMail('new-device', user.id, { ip, device, method });
    }),
    'auth.password_changed': passwordChanged,
    'auth.password_reset': passwordChanged,
    'security.two_factor_enabled': listen(({ userId, ip }: CredentialEvent) =>
      queueMail('two-factor-enabled', userId, { ip }),
    ),
    'security.two_factor_disabled': listen(({ userId, ip, reason }: CredentialEvent & { reason: string }) =>
      // The user does not learn the address of an admin.
      queueMail('two-factor-disabled', userId, { byAdmin: reason === 'admin', ip: reason === 'admin' ? '' : ip }),
    ),
    'security.recovery_code_used': listen(({ userId, ip, remaining }: CredentialEvent & { remaining: number }) =>
      queueMail('recovery-code-used', userId, { ip, remaining }),
    ),
    'security.identity_linked': listen(({ userId, ip, provider }: CredentialEvent & { provider: string }) =>
      queueMail('identity-linked', userId, { ip, provider }),
    ),
    'security.identity_removed': listen(({ provider, ...event }: CredentialEvent & { provider: string }) =>
      queueMail('identity-removed', event.userId, { ip: addressToName(event), provider }),
    ),
    'security.passkey_added': listen(({ userId, ip }: CredentialEvent) => queueMail('passkey-added', userId, { ip })),
    'security.passkey_removed': listen((event: CredentialEvent) =>
      queueMail('passkey-removed', event.userId, { ip: addressToName(event) }),
    ),
  };
  return { listeners, worker: { stop } satisfies RunningWorker };
}
