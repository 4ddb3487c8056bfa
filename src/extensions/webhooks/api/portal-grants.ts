import { ApiError, type Auth } from '../../../extension/index.ts';

/** What a link to the portal allows, as its token carries it. */
export interface PortalGrant {
  /** The id of the link, for the audit trail. */
  id: string;
  /** The user that the link signs in, or the member who requested a link for an organisation; undefined if code or an API key requested that. */
  userId: string | undefined;
  /** Epoch milliseconds. */
  expiresAt: number;
  /** The proof of the user's password when the link was created: the link ends with the password. Empty without a user. */
  proof: string;
  /** The session that the link ends with; undefined if no session of the user requested the link. */
  session: string | undefined;
  /** The only endpoint that the link reaches; undefined: all endpoints of the user or organisation. */
  endpointId: string | undefined;
  /** Whether the link reaches endpoints of scope `global`. */
  includeGlobal: boolean;
  /** The organisation whose endpoints the link reaches, and the role as which; undefined: the link reaches the endpoints of the user. */
  organisation?: { id: string; role: string } | undefined;
  /** The API key of the organisation that requested the link, which ends with the key. */
  keyId?: string | undefined;
}

const grants = new WeakMap<Auth, PortalGrant>();

/** Creates the `auth` of a request with a link to the portal. */
export function createPortalAuth(grant: PortalGrant): Auth {
  const { id, organisation } = grant;
  const auth: Auth = {
    ...{ via: 'portal', scopes: [], id },
    ...(organisation !== undefined && { organisation: organisation.id, organisationRole: organisation.role }),
  };
  grants.set(auth, grant);
  return auth;
}

/** Returns the grant of the link that signed a request in; undefined for a session or an API key. */
export function getPortalGrant(auth: Auth | undefined): PortalGrant | undefined {
  if (auth?.via !== 'portal') return undefined;
  const grant = grants.get(auth);
  // Without a grant nothing would limit the request.
  if (grant === undefined) throw new ApiError('FORBIDDEN');
  return grant;
}

/** Whether a request may know of an endpoint of its user. Only links to the portal are limited. */
export function reachesEndpoint(auth: Auth | undefined, endpoint: { id: string; scope: 'own' | 'global' }): boolean {
  const grant = getPortalGrant(auth);
  if (grant === undefined) return true;
  if (grant.endpointId !== undefined && grant.endpointId !== endpoint.id) return false;
  return endpoint.scope === 'own' || grant.includeGlobal;
}

/**
 * Checks that the request's link, if it has one, may create an endpoint.
 *
 * @throws ApiError FORBIDDEN
 */
export function assertMayCreate(auth: Auth | undefined, scope: 'own' | 'global'): void {
  const grant = getPortalGrant(auth);
  if (grant === undefined) return;
  if (grant.endpointId !== undefined) throw new ApiError('FORBIDDEN', 'This link is for a single webhook');
  if (scope === 'global' && !grant.includeGlobal) {
    throw new ApiError('FORBIDDEN', 'This link does not include webhooks of scope "global"');
  }
}
