import type { AuditEvent } from './entry.ts';
import { maskText } from './mask.ts';

/** What the trail keeps of an event's payload; `email`: of a user, to be looked up by it. */
export type EventParts = Partial<Omit<AuditEvent, 'at' | 'action' | 'changes'>> & { email?: string };

// biome-ignore lint/suspicious/noExplicitAny: each event has its own payload, told in the docs of its feature
type Payload = any;

const account = ({ user, ip }: Payload): EventParts => ({ user: user.id, resource: 'user', record: user.id, ip });

const attempt = ({ email, ip, ...details }: Payload): EventParts => ({
  resource: 'user',
  email,
  ip,
  details: { email: maskText(email), ...details },
});

/** About a user: by themselves, unless `by` says whose doing it was. */
const secondFactor = ({ userId, by = userId, ip, ...details }: Payload): EventParts => ({
  user: by,
  resource: 'user',
  record: userId,
  ip,
  details,
});

/** A code that was wrong: who tried is not known. */
const wrongCode = ({ userId, ip, ...details }: Payload): EventParts => ({
  resource: 'user',
  record: userId,
  ip,
  details,
});

/** Somebody's data left, or was asked for: theirs, or by an admin. */
const dataExport = ({ userId, by, ip }: Payload): EventParts => ({ user: by, resource: 'user', record: userId, ip });

/** The host alone: what follows it may be a secret. */
function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}

const endpoint = ({ webhook, owner, ip, reason }: Payload): EventParts => {
  const { id, url, events, scope } = webhook;
  const automatic = reason !== undefined && reason !== 'manual';
  return {
    user: automatic ? null : owner,
    via: automatic ? 'system' : null,
    resource: 'webhook',
    record: id,
    ip: ip ?? null,
    details: { owner, host: hostOf(url), events, scope, reason },
  };
};

/** The in-process events that the trail keeps besides changes of records, and what of each. */
export const AUDITED_EVENTS: Readonly<Record<string, (payload: Payload) => EventParts | undefined>> = {
  'auth.registered': account,
  'auth.login': account,
  'auth.password_changed': account,
  // Anybody may ask for a link, so the user is only what it is about.
  'auth.password_reset_requested': (payload) => ({ ...account(payload), user: null }),
  'auth.password_reset': account,
  'security.login_failed': attempt,
  'security.account_locked': attempt,
  'security.locked_login_attempt': attempt,
  'security.two_factor_enabled': secondFactor,
  'security.two_factor_disabled': secondFactor,
  'security.recovery_code_used': secondFactor,
  'security.recovery_codes_renewed': secondFactor,
  'security.two_factor_failed': wrongCode,
  'security.two_factor_locked': wrongCode,
  'security.api_key_created': ({ userId, keyId, ip, ...details }) => ({
    user: userId,
    resource: 'api-key',
    record: keyId,
    ip,
    details,
  }),
  'security.api_key_revoked': ({ userId, keyId, by, ...details }) => ({
    user: by,
    via: by === null ? 'system' : null,
    resource: 'api-key',
    record: keyId,
    details: { owner: userId, ...details },
  }),
  'security.api_keys_revoked': ({ userId, ip, ...details }) => ({
    user: userId,
    resource: 'user',
    record: userId,
    ip,
    details,
  }),
  // What is no key of anybody's anybody can send, as often as they like.
  'security.invalid_api_key': ({ userId, keyId, ip, ...details }) =>
    keyId === undefined
      ? undefined
      : { resource: 'api-key', record: keyId, ip, details: { owner: userId, ...details } },
  'security.export_requested': dataExport,
  // Whoever has the link fetches it: who that is, is not known.
  'security.export_fetched': (payload) => ({ ...dataExport(payload), user: null }),
  'security.access_refused': ({ userId, via, credential, ip, requestId, ...details }) => ({
    user: userId,
    via,
    credential,
    ip,
    requestId,
    details,
  }),
  'security.erasure_requested': ({ userId, by, ip, ...details }) => ({
    user: by,
    resource: 'user',
    record: userId,
    ip,
    details,
  }),
  'security.account_erased': ({ userId, ...details }) => ({
    via: 'system',
    resource: 'user',
    record: userId,
    details,
  }),
  'webhook.created': endpoint,
  'webhook.updated': endpoint,
  'webhook.secret_rotated': endpoint,
  'webhook.deleted': endpoint,
  'webhook.disabled': endpoint,
};
