import type { z } from 'zod';
import type { Viewer } from '../../extension/index.ts';
import { findPageError, readClientData } from './client-data.ts';
import type { PasskeySettings } from './settings.ts';
import type { Assertion, Attestation, creationOptionsShape, requestOptionsShape } from './shapes.ts';

// Loaded when they are first used: loading takes 0.1 s, which apps without passkeys should not spend at every start.
const loadLibrary = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

/** The COSE numbers of the signature algorithms, in order of preference: Ed25519, ES256, RS256 (for Windows Hello). */
const ALGORITHMS = [-8, -7, -257];
/** https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential allows 1023 bytes: 1364 characters of base64url. */
const MAX_CREDENTIAL_ID = 1364;
const TRANSPORT = /^[a-z-]{1,32}$/;

/** A passkey as browsers identify it. */
export interface CredentialDescriptor {
  /** Base64url. */
  id: string;
  transports: string[];
}

/** Returns the user handle that authenticators store with the passkeys of a user, in base64url. */
function userHandleOf(userId: string): string {
  return Buffer.from(userId).toString('base64url');
}

/** Returns the options with which a browser creates a passkey for a user. @param existing the passkeys that the user has */
export async function createCreationOptions(
  { rpId, rpName, challengeTtl }: PasskeySettings,
  user: Viewer,
  challenge: Uint8Array<ArrayBuffer>,
  existing: CredentialDescriptor[],
): Promise<z.input<typeof creationOptionsShape>> {
  const { generateRegistrationOptions } = await loadLibrary();
  const email = String(user.email);
  const options = await generateRegistrationOptions({
    rpID: rpId,
    rpName,
    challenge,
    userID: new Uint8Array(Buffer.from(user.id)),
    userName: email,
    userDisplayName: typeof user.name === 'string' ? user.name : email,
    timeout: challengeTtl,
    attestationType: 'none',
    excludeCredentials: existing,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
  return { ...options, rp: { ...options.rp }, user: { ...options.user } };
}

/** Returns the options with which a browser uses a passkey. @param allowed left out: the user chooses among all passkeys of the app */
export async function createRequestOptions(
  { rpId, challengeTtl }: PasskeySettings,
  challenge: Uint8Array<ArrayBuffer>,
  allowed?: CredentialDescriptor[],
): Promise<z.input<typeof requestOptionsShape>> {
  const { generateAuthenticationOptions } = await loadLibrary();
  const options = await generateAuthenticationOptions({
    rpID: rpId,
    challenge,
    timeout: challengeTtl,
    userVerification: 'required',
    ...(allowed && { allowCredentials: allowed }),
  });
  return { ...options, rpId };
}

/** The result of a verification. `reason` is a text for the client, `cause` the error of the library. */
type Verified<T> = { ok: true; value: T } | { ok: false; reason: string; cause?: unknown };

const UNVERIFIED = 'Must be the response of a passkey to these options, with user verification';

/** Runs a verification on the page of the app; an error of the library is a refusal. */
async function verifyOnPage<T>(
  { origins }: PasskeySettings,
  clientDataJSON: string,
  verify: () => Promise<T | undefined>,
): Promise<Verified<T>> {
  const clientData = readClientData(clientDataJSON);
  const pageError = clientData === undefined ? UNVERIFIED : findPageError(clientData, origins);
  if (pageError !== undefined) return { ok: false, reason: pageError };
  try {
    const value = await verify();
    return value === undefined ? { ok: false, reason: UNVERIFIED } : { ok: true, value };
  } catch (cause) {
    return { ok: false, reason: UNVERIFIED, cause };
  }
}

/** A verified new passkey. */
export interface NewCredential {
  credentialId: string;
  /** COSE, base64url. */
  publicKey: string;
  counter: number;
  deviceType: string;
  backedUp: boolean;
  transports: string[];
}

/**
 * Removes the attestation statement, which says who made the authenticator. Belfry requests none and trusts no maker, and its verification
 * would parse certificates of the client and fetch the revocation lists that they name.
 */
async function withoutAttestationStatement(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await loadHelpers();
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
  const object = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ]);
  return isoBase64URL.fromBuffer(isoCBOR.encode(object));
}

/** Verifies the response of an authenticator that created a passkey. @param isChallenge whether a challenge is the one that was sent */
export function verifyCreation(
  settings: PasskeySettings,
  { id, rawId, type, response }: Attestation,
  isChallenge: (challenge: string) => boolean,
): Promise<Verified<NewCredential>> {
  return verifyOnPage(settings, response.clientDataJSON, async () => {
    const { verifyRegistrationResponse } = await loadLibrary();
    const attestationObject = await withoutAttestationStatement(response.attestationObject);
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId, type, clientExtensionResults: {} },
        response: { clientDataJSON: response.clientDataJSON, attestationObject },
      },
      expectedChallenge: isChallenge,
      expectedOrigin: settings.origins,
      expectedRPID: settings.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (registrationInfo === undefined) return undefined;
    const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo;
    if (credential.id === '' || credential.id.length > MAX_CREDENTIAL_ID || credential.id !== id) return undefined;
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      deviceType: credentialDeviceType,
      backedUp: credentialBackedUp,
      transports: [...new Set(response.transports)].filter((transport) => TRANSPORT.test(transport)),
    };
  });
}

/** The stored part of a passkey that its responses are verified against. */
interface StoredCredential {
  userId: string;
  /** COSE, base64url. */
  publicKey: string;
  deviceType: string;
}

/**
 * Verifies the response of an authenticator that used a passkey, except for its counter.
 *
 * @param isChallenge whether a challenge is the one that was sent
 * @param needsUserHandle whether the response must name the user, because the options did not
 */
export function verifyUse(
  settings: PasskeySettings,
  { id, rawId, type, response }: Assertion,
  isChallenge: (challenge: string) => boolean,
  { userId, publicKey, deviceType }: StoredCredential,
  needsUserHandle: boolean,
): Promise<Verified<{ counter: number; backedUp: boolean }>> {
  const { userHandle, ...signed } = response;
  return verifyOnPage(settings, response.clientDataJSON, async () => {
    const { verifyAuthenticationResponse } = await loadLibrary();
    if (needsUserHandle || userHandle) if (userHandle !== userHandleOf(userId)) return undefined;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { id, rawId, type, clientExtensionResults: {}, response: signed },
      expectedChallenge: isChallenge,
      expectedOrigin: settings.origins,
      expectedRPID: settings.rpId,
      requireUserVerification: true,
      // The library checks the counter before the signature, so with the real one, anyone could make a passkey look cloned.
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
    });
    // Whether a passkey can be backed up never changes.
    if (!verified || authenticationInfo.credentialDeviceType !== deviceType) return undefined;
    return { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp };
  });
}
