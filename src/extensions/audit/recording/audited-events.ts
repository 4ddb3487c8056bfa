import type { AuditEvent } from '../trail/entry.ts';
import type { EventWriter } from './event-writer.ts';
import { maskText } from './mask.ts';

/** The parts of an event's payload that are recorded. `email` is replaced by the id of the user with that address. */
type EventParts = Partial<Omit<AuditEvent, 'at' | 'action' | 'changes'>> & { email?: string };

// biome-ignore lint/suspicious/noExplicitAny: each event has its own payload, described in the docs of its feature
type Payload = any;

const toAccountEvent = ({ user, ip }: Payload): EventParts => ({
  user: user.id,
  resource: 'user',
  record: user.id,
  ip,
});

const toSignInAttemptEvent = ({ email, ip, ...details }: Payload): EventParts => ({
  resource: 'user',
  email,
  ip,
  details: { email: maskText(email), ...details },
});

/** Returns the recorded parts of an event about a user's ways to sign in. The user is also the actor, unless `by` names another user. */
const toCredentialEvent = ({ userId, by = userId, ip, ...details }: Payload): EventParts => ({
  user: by,
  resource: 'user',
  record: userId,
  ip,
  details,
});

/** Returns the recorded parts of a refused code or passkey. No actor is recorded, because anyone may have sent it. */
const toRefusedFactorEvent = ({ userId, ip, ...details }: Payload): EventParts => ({
  resource: 'user',
  record: userId,
  ip,
  details,
});

/** Returns the recorded parts of an event about an export of a user's data. `by` is the user or admin who requested the export. */
const toDataExportEvent = ({ userId, by, ip }: Payload): EventParts => ({
  user: by,
  resource: 'user',
  record: userId,
  ip,
});

/** Returns the recorded parts of an event about an invitation. */
const toInvitationEvent = ({ userId, invitationId, email, roles, ip }: Payload): EventParts => ({
  user: userId,
  resource: 'invitation',
  record: invitationId,
  ip,
  details: { email: maskText(email), roles },
});

/** Returns only the host of a URL, because the rest may contain secrets. */
function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}

/** Returns the names of the conditions of a filter by event. Their values may be personal. */
const listConditions = (filter: Record<string, object>) =>
  Object.fromEntries(Object.entries(filter).map(([event, conditions]) => [event, Object.keys(conditions)]));

/** Returns the recorded parts of an event about an endpoint. The owner is also the actor, unless `by` names an administrator. */
const toWebhookEndpointEvent = (payload: Payload): EventParts => {
  const { webhook, owner, organisation, by = owner, ip, reason, via, credential } = payload;
  const { id, url, events, scope, as, filter } = webhook;
  const automatic = reason !== undefined && reason !== 'manual';
  return {
    user: automatic ? null : by,
    via: automatic ? 'system' : (via ?? null),
    credential: credential ?? null,
    resource: 'webhook',
    record: id,
    ip: ip ?? null,
    details: {
      ...{ owner, organisation, host: hostOf(url), events, scope, as, reason },
      filter: filter ? listConditions(filter) : undefined,
    },
  };
};

/** The recorded in-process events, with the parts of their payloads that are recorded. */
const AUDITED_EVENTS: Readonly<Record<string, (payload: Payload) => EventParts | undefined>> = {
  'auth.registered': toAccountEvent,
  'auth.login': (payload) => ({ ...toAccountEvent(payload), details: { method: payload.method } }),
  'auth.email_verified': ({ claimed, by, ...payload }) => ({
    ...toAccountEvent(payload),
    ...(by !== undefined && { user: by }),
    details: { claimed },
  }),
  'auth.password_changed': toAccountEvent,
  // Anyone may request a reset link, so the owner of the account is recorded as the subject and not as the actor.
  'auth.password_reset_requested': (payload) => ({ ...toAccountEvent(payload), user: null }),
  'auth.password_reset': toAccountEvent,
  'auth.email_changed': ({ undone, by, ...payload }) => ({
    ...toAccountEvent(payload),
    ...(by !== undefined && { user: by }),
    details: { undone },
  }),
  'auth.invitation_sent': toInvitationEvent,
  'auth.invitation_revoked': toInvitationEvent,
  'auth.invitation_accepted': ({ userId, invitationId, by, ip }) => ({
    user: userId,
    resource: 'invitation',
    record: invitationId,
    ip,
    details: { invitedBy: by },
  }),
  'security.login_failed': toSignInAttemptEvent,
  'security.account_locked': toSignInAttemptEvent,
  'security.locked_login_attempt': toSignInAttemptEvent,
  'security.new_device': toCredentialEvent,
  'security.identity_linked': toCredentialEvent,
  'security.identity_removed': toCredentialEvent,
  'security.two_factor_enabled': toCredentialEvent,
  'security.two_factor_disabled': toCredentialEvent,
  'security.passkey_added': toCredentialEvent,
  'security.passkey_removed': toCredentialEvent,
  'security.passkey_clone_suspected': toRefusedFactorEvent,
  'security.recovery_code_used': toCredentialEvent,
  'security.recovery_codes_renewed': toCredentialEvent,
  'security.two_factor_failed': toRefusedFactorEvent,
  'security.two_factor_locked': toRefusedFactorEvent,
  'security.account_changed': toCredentialEvent,
  // A key of an organisation has a creator instead of an owner.
  'security.api_key_created': ({ userId, by = userId, keyId, ip, ...details }) => ({
    user: by,
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
  // Unknown API keys are not recorded: anyone can send any number of them.
  'security.invalid_api_key': ({ userId, keyId, ip, ...details }) =>
    keyId === undefined
      ? undefined
      : { resource: 'api-key', record: keyId, ip, details: { owner: userId, ...details } },
  'security.export_requested': toDataExportEvent,
  // Anyone who has the link can download the export, so no actor is recorded.
  'security.export_fetched': (payload) => ({ ...toDataExportEvent(payload), user: null }),
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
  'webhook.created': toWebhookEndpointEvent,
  'webhook.updated': toWebhookEndpointEvent,
  'webhook.secret_rotated': toWebhookEndpointEvent,
  'webhook.deleted': toWebhookEndpointEvent,
  'webhook.disabled': toWebhookEndpointEvent,
};

const EMPTY_EVENT = {
  resource: null,
  record: null,
  user: null,
  via: null,
  credential: null,
  ip: null,
  requestId: null,
  changes: null,
  details: null,
};

/** Creates the listeners of the recorded events, by event name. */
export function createAuditListeners({ add }: Pick<EventWriter, 'add'>): Record<string, (payload: never) => void> {
  const listeners = Object.entries(AUDITED_EVENTS).map(([action, toEventParts]) => [
    action,
    (payload: unknown) => {
      const event = toEventParts(payload);
      if (event === undefined) return;
      const definedParts = Object.entries(event).filter(([, value]) => value !== undefined && value !== '');
      add({ ...EMPTY_EVENT, at: new Date().toISOString(), action, ...Object.fromEntries(definedParts) });
    },
  ]);
  return Object.fromEntries(listeners);
}
