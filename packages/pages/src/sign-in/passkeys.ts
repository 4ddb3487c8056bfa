import type { FormValues } from './form.tsx';
import type { PasskeyChallenge, PasskeySignInOptions, SignInResponse } from './responses.ts';
import { request, requestAsUser } from './session.ts';
import { texts } from './texts.ts';

/** Whether the browser can use passkeys. It has no `PublicKeyCredential` on pages without https. */
export const supportsPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function';

/** A passkey was not used. Browsers do not tell why, so the message does not, either. */
export class PasskeyError extends Error {
  /** Whether the page itself has ended the request. */
  readonly isAborted: boolean;

  constructor(cause: unknown) {
    super(texts.errors.passkey, { cause });
    this.isAborted = cause instanceof DOMException && cause.name === 'AbortError';
  }
}

/** Runs a call to the authenticator. @throws PasskeyError */
async function askAuthenticator(ask: () => Promise<Credential | null>): Promise<unknown> {
  if (!supportsPasskeys()) throw new Error(texts.errors.noPasskeys);
  let credential: Credential | null;
  try {
    credential = await ask();
  } catch (error) {
    throw new PasskeyError(error);
  }
  if (!(credential instanceof PublicKeyCredential)) throw new PasskeyError(credential);
  return credential.toJSON();
}

const getResponse = (options: PublicKeyCredentialRequestOptionsJSON, extra?: CredentialRequestOptions) =>
  askAuthenticator(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), ...extra }),
  );

/** Signs in with a passkey. @param extra further options of `navigator.credentials.get` */
export async function signInWithPasskey(extra?: CredentialRequestOptions): Promise<SignInResponse> {
  const { challengeId, options } = await request<PasskeySignInOptions>('POST', '/auth/passkeys/sign-in/options');
  return request('POST', '/auth/passkeys/sign-in', { challengeId, response: await getResponse(options, extra) });
}

/** Finishes a sign-in that asks for a passkey. */
export async function finishWithPasskey({ mfaToken, options }: PasskeyChallenge): Promise<SignInResponse> {
  return request('POST', '/auth/passkeys/second-factor', { mfaToken, response: await getResponse(options) });
}

/** Confirms with a passkey that it is the user, so that the session counts as a recent sign-in. */
export async function confirmWithPasskey(): Promise<void> {
  const path = '/auth/passkeys/confirm';
  const options = await requestAsUser<PublicKeyCredentialRequestOptionsJSON>('POST', `${path}/options`);
  await requestAsUser<void>('POST', path, { response: await getResponse(options) });
}

/** Adds a passkey of this device. @param values `name`, and the `code` of two-factor login, if it is on */
export async function addPasskey({ name, code }: FormValues): Promise<void> {
  const options = await requestAsUser<PublicKeyCredentialCreationOptionsJSON>(
    'POST',
    '/auth/passkeys/options',
    code === undefined ? {} : { code },
  );
  const response = await askAuthenticator(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  );
  await requestAsUser('POST', '/auth/passkeys', { response, ...(name === undefined ? {} : { name }) });
}
