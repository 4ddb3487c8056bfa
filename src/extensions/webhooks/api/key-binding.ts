import {
  ApiError,
  type Auth,
  getCredentialWatch,
  type RouteContext,
  validationError,
} from '../../../extension/index.ts';
import { getAdministrator } from '../endpoints/administrators.ts';
import type { serializeEndpoint } from '../endpoints/endpoint.ts';
import { isApiKey, type KeyLimits, ownerOnlyError, toBoundKey } from '../endpoints/key-limits.ts';
import { getPortalGrant } from './portal-grants.ts';

type Endpoint = ReturnType<typeof serializeEndpoint>;

/** A change of an endpoint's binding to an API key, in the form that `bindKeySql` takes. */
type KeyBindingChange = readonly [
  change: 'keep' | 'bind' | 'drop',
  keyId: string | null,
  scopes: readonly string[] | null,
  expiresAt: string | null,
];

const KEEP: KeyBindingChange = ['keep', null, null, null];

/** Returns the binding for a request: an API key binds the endpoint that it creates or changes to itself; a session binds nothing. */
export async function bindToCallingKey(
  limits: Pick<KeyLimits, 'expiryOf'>,
  auth: Auth | undefined,
): Promise<KeyBindingChange> {
  if (!isApiKey(auth)) return KEEP;
  // The expiry and revocation of credentials from other extensions cannot be detected.
  if (getCredentialWatch(auth) === undefined) {
    throw new ApiError(
      'FORBIDDEN',
      'A webhook cannot be created or changed with this kind of credential; use a session',
    );
  }
  return ['bind', auth.id, auth.scopes, await limits.expiryOf(auth.id)];
}

/**
 * Returns how an update changes the binding of an endpoint. A key that changes its URL, events or filter, or enables it, binds the endpoint to
 * itself. A session of the owner may remove the binding.
 */
export async function decideKeyBinding(
  limits: Pick<KeyLimits, 'expiryOf' | 'ended'>,
  ctx: RouteContext,
  endpoint: Endpoint,
): Promise<KeyBindingChange> {
  const { auth, input } = ctx;
  const { url, events: subscribed, enabled, apiKeyId, filter } = input;
  if (apiKeyId !== undefined && getPortalGrant(auth) !== undefined)
    throw new ApiError('FORBIDDEN', 'A link to the portal cannot change apiKeyId; use a session');
  if (isApiKey(auth)) {
    if (apiKeyId !== undefined) throw new ApiError('FORBIDDEN', 'An API key cannot change apiKeyId; use a session');
    const redirects = url !== undefined || subscribed !== undefined || filter !== undefined || enabled === true;
    return redirects ? bindToCallingKey(limits, auth) : KEEP;
  }
  const { apiKeyId: bound } = endpoint;
  const isOver = enabled === true && bound !== undefined && (await limits.ended([bound])).length > 0;
  // Without its key, the endpoint would receive more than the key could read, which only the owner may decide.
  if (isOver && getAdministrator(ctx) !== undefined) throw ownerOnlyError();
  return isOver || apiKeyId === null ? ['drop', null, null, null] : KEEP;
}

/**
 * Rejects events that the caller, or the key that the endpoint stays bound to, may not read.
 *
 * @param change how the request changes the binding of the endpoint
 * @throws ApiError FORBIDDEN or VALIDATION_ERROR
 */
export function assertMayReadEvents(
  limits: Pick<KeyLimits, 'assertKeyMayReadEvents' | 'reads'>,
  { auth, input }: RouteContext,
  endpoint: Endpoint,
  [change]: KeyBindingChange,
): void {
  const { events: subscribed } = input;
  if (subscribed === undefined) return;
  if (isApiKey(auth)) limits.assertKeyMayReadEvents(auth, subscribed);
  const binding = change === 'keep' && !isApiKey(auth) ? toBoundKey(endpoint) : undefined;
  if (binding === undefined || limits.reads(binding, subscribed)) return;
  throw validationError({
    events: `Must be within the scopes of the API key that the webhook is bound to (${binding.scopes.join(', ')}); set apiKeyId to null to lift that limit`,
  });
}
