import { DecryptionError, type Keyring } from '../../../extension/index.ts';
import type { PortalGrant } from '../api/portal-grants.ts';

// A session token is `svc_` and hex digits, an API key is `svc_ak_…`, so neither can look like a token of the portal.
const PREFIX = 'svc_wp_';
const TOKEN = /^svc_wp_[\w.-]{1,480}$/;
/** 128 bits of the proof: enough to tell passwords apart, and short enough for a header. */
const PROOF_CHARACTERS = 32;
/** A ciphertext decrypts only with the context that it was encrypted for, so no other stored value can serve as a token. */
const CONTEXT = 'webhooks/portal/token';

type Fields = [
  id: string,
  userId: string | null,
  expiresAt: number,
  proof: string,
  session: string | null,
  endpointId: string | null,
  includeGlobal: boolean,
  // Tokens of an earlier version have no more.
  organisation?: string | null,
  role?: string | null,
  keyId?: string | null,
];

/** Whether a token has the form of a portal's. */
export function looksLikePortalToken(text: string): boolean {
  return TOKEN.test(text);
}

/**
 * Creates the token of a link: its grant, encrypted and authenticated with the app's key. Nothing is stored, so a token is valid
 * until it expires, its user is disabled or deleted, the user's password changes, the session or key that it names ends, or its organisation is
 * deleted.
 */
export function createPortalToken(keyring: Keyring, grant: PortalGrant): string {
  const { id, userId = null, expiresAt, proof, session = null, endpointId = null, includeGlobal } = grant;
  const { organisation, keyId = null } = grant;
  const ofOrganisation = organisation === undefined ? [] : [organisation.id, organisation.role, keyId];
  const fields = [id, userId, expiresAt, toShortProof(proof), session, endpointId, includeGlobal, ...ofOrganisation];
  return PREFIX + keyring.encrypt(JSON.stringify(fields), CONTEXT);
}

/** Returns the grant of a token; undefined if this app has not created it, or if it has expired. The grant has a shortened proof. */
export function readPortalToken(keyring: Keyring, token: string, now = Date.now()): PortalGrant | undefined {
  let plain: string;
  try {
    plain = keyring.decrypt(token.slice(PREFIX.length), CONTEXT);
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
  const [id, userId, expiresAt, proof, session, endpointId, includeGlobal, organisation, role, keyId] = JSON.parse(
    plain,
  ) as Fields;
  if (expiresAt <= now) return undefined;
  return {
    ...{ id, expiresAt, proof, includeGlobal },
    userId: userId ?? undefined,
    session: session ?? undefined,
    endpointId: endpointId ?? undefined,
    organisation: organisation && role ? { id: organisation, role } : undefined,
    keyId: keyId ?? undefined,
  };
}

/** Returns the part of a proof that tokens carry. */
export function toShortProof(proof: string): string {
  return proof.slice(0, PROOF_CHARACTERS);
}
