import { request, requestAsUser } from './session.js';
import { texts } from './texts.js';

export const supportsPasskeys = () => typeof PublicKeyCredential?.parseRequestOptionsFromJSON === 'function';

/** Runs a call to the authenticator. Browsers do not tell why it failed, so the message does not, either. */
async function askAuthenticator(ask) {
  if (!supportsPasskeys()) throw new Error(texts.errors.noPasskeys);
  try {
    return (await ask()).toJSON();
  } catch (error) {
    throw Object.assign(new Error(texts.errors.passkey, { cause: error }), { isAborted: error.name === 'AbortError' });
  }
}

const getResponse = (options, extra) =>
  askAuthenticator(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), ...extra }),
  );

/** Signs in with a passkey. Returns the response to the sign-in. @param [extra] further options of `navigator.credentials.get` */
export async function signInWithPasskey(extra) {
  const { challengeId, options } = await request('POST', '/auth/passkeys/sign-in/options');
  return request('POST', '/auth/passkeys/sign-in', { challengeId, response: await getResponse(options, extra) });
}

/** Finishes a sign-in that asks for a passkey. */
export async function finishWithPasskey({ mfaToken, options }) {
  return request('POST', '/auth/passkeys/second-factor', { mfaToken, response: await getResponse(options) });
}

/** Confirms with a passkey that it is the user, so that the session counts as a recent sign-in. */
export async function confirmWithPasskey() {
  const options = await requestAsUser('POST', '/auth/passkeys/confirm/options');
  await requestAsUser('POST', '/auth/passkeys/confirm', { response: await getResponse(options) });
}

/** Adds a passkey of this device. @param {{ name?: string, code?: string }} values `code`: of two-factor login, if it is on */
export async function addPasskey({ name, code }) {
  const options = await requestAsUser('POST', '/auth/passkeys/options', code === undefined ? {} : { code });
  const response = await askAuthenticator(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  );
  return requestAsUser('POST', '/auth/passkeys', { response, ...(name === undefined ? {} : { name }) });
}
