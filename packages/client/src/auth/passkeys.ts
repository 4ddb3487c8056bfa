import { decodeBase64url, encodeBase64url } from '../request/base64url.ts';
import { ApiError } from '../request/errors.ts';
import type { CallOptions } from '../request/request.ts';
import { type AuthContext, createClientError } from './context.ts';
import type { AuthUser } from './session.ts';
import type { SignInChallenge, SignInResult } from './sign-in-result.ts';

/** A passkey of the user. */
export interface Passkey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
  /** Whether the passkey was backed up when it was last used. */
  backedUp: boolean;
  /** Whether the passkey stays on one device or can be synced to others. */
  deviceType: 'singleDevice' | 'multiDevice';
  transports: string[];
}

/** `client.auth.passkeys`: sign-in with passkeys, and the passkeys of the user. */
export interface PasskeyMethods<User = AuthUser> {
  /** Whether this browser supports passkeys. `autofill`: whether it also offers them in form fields. */
  isSupported(options?: { autofill?: boolean }): Promise<boolean>;
  /**
   * Signs in. The user chooses the account.
   *
   * @param options `autofill`: the browser offers the passkeys in the field with `autocomplete="username webauthn"`, and the promise stays
   *   open until the user takes one. Call it when the field gets the focus; each call counts as a sign-in attempt. Another sign-in with a
   *   passkey ends it with `PASSKEY_CANCELLED`
   * @throws ApiError `PASSKEYS_UNSUPPORTED`; `PASSKEY_CANCELLED`: cancelled, timed out, or no passkey
   */
  signIn(options?: CallOptions & { autofill?: boolean }): Promise<SignInResult<User>>;
  /**
   * Adds a passkey of this device to the account. Needs a recent sign-in.
   *
   * @param values `code`: of two-factor login, if it is on
   * @throws ApiError `PASSKEY_EXISTS`: this device already has one; and as `signIn`
   */
  add(values?: { name?: string; code?: string }, options?: CallOptions): Promise<Passkey>;
  list(options?: CallOptions): Promise<Passkey[]>;
  rename(id: string, name: string, options?: CallOptions): Promise<Passkey>;
  /** Removes a passkey. Needs a recent sign-in. @throws ApiError `CONFLICT` for the last way to sign in */
  delete(id: string, options?: CallOptions): Promise<void>;
}

type Json = Record<string, unknown>;

/** The parts of a credential that its JSON contains. */
interface Credential {
  id: string;
  rawId: ArrayBuffer;
  type: string;
  authenticatorAttachment?: string | null;
  response: Record<string, unknown> & { getTransports?(): string[] };
  toJSON?(): Json;
  getClientExtensionResults(): Json;
}

/** The parts of a browser that passkeys need. */
interface PasskeyBrowser {
  navigator?: {
    credentials?: {
      create(options: object): Promise<Credential | null>;
      get(options: object): Promise<Credential | null>;
    };
  };
  PublicKeyCredential?: {
    parseCreationOptionsFromJSON?(json: Json): object;
    parseRequestOptionsFromJSON?(json: Json): object;
    isConditionalMediationAvailable?(): Promise<boolean>;
  };
}

const browser = globalThis as unknown as PasskeyBrowser;

/** The members of a response that are bytes. */
const BINARY = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'];

const decodeIds = (list: unknown) =>
  ((list ?? []) as Json[]).map((descriptor) => ({ ...descriptor, id: decodeBase64url(String(descriptor.id)) }));

/** Like `parseCreationOptionsFromJSON`, for browsers without it. */
function parseCreationOptions(json: Json): object {
  const user = json.user as Json;
  return {
    ...json,
    challenge: decodeBase64url(String(json.challenge)),
    user: { ...user, id: decodeBase64url(String(user.id)) },
    excludeCredentials: decodeIds(json.excludeCredentials),
  };
}

/** Like `parseRequestOptionsFromJSON`, for browsers without it. */
const parseRequestOptions = (json: Json): object => ({
  ...json,
  challenge: decodeBase64url(String(json.challenge)),
  allowCredentials: decodeIds(json.allowCredentials),
});

/** Like `toJSON` of a credential, for browsers without it. */
function credentialToJson(credential: Credential): Json {
  const { id, rawId, type, authenticatorAttachment, response } = credential;
  const bytes = BINARY.filter((name) => response[name] instanceof ArrayBuffer);
  return {
    ...{ id, type, rawId: encodeBase64url(rawId) },
    ...(authenticatorAttachment ? { authenticatorAttachment } : {}),
    clientExtensionResults: credential.getClientExtensionResults(),
    response: {
      ...Object.fromEntries(bytes.map((name) => [name, encodeBase64url(response[name] as ArrayBuffer)])),
      ...(response.getTransports === undefined ? {} : { transports: response.getTransports() }),
    },
  };
}

/** What the authenticator is doing. A page can ask it once at a time. */
let asking: AbortController | undefined;

/** Asks the authenticator. Ends what it was asked before, such as an offer in a form field. */
async function ask(
  run: (signal: AbortSignal) => Promise<Credential | null> | undefined,
  { signal }: CallOptions = {},
): Promise<Json> {
  signal?.throwIfAborted();
  asking?.abort();
  const own = new AbortController();
  asking = own;
  const onAbort = () => own.abort();
  signal?.addEventListener('abort', onAbort);
  try {
    const credential = browser.PublicKeyCredential === undefined ? undefined : await run(own.signal);
    if (credential === undefined)
      throw createClientError(
        'PASSKEYS_UNSUPPORTED',
        'This browser has no passkeys, or the page is not served over https',
      );
    if (credential === null) throw createClientError('PASSKEY_CANCELLED', 'No passkey was chosen');
    return credential.toJSON?.() ?? credentialToJson(credential);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ApiError) throw error;
    const { name } = error as { name?: string };
    if (name === 'InvalidStateError')
      throw createClientError('PASSKEY_EXISTS', 'This device already has a passkey of this account', { cause: error });
    // Browsers give one reason for everything else, so that pages do not learn which passkeys exist.
    if (name === 'NotAllowedError' || name === 'AbortError')
      throw createClientError('PASSKEY_CANCELLED', 'The passkey was not used: it was cancelled, or it took too long', {
        cause: error,
      });
    throw createClientError('PASSKEY_FAILED', `The passkey could not be used: ${(error as Error)?.message}`, {
      cause: error,
    });
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (asking === own) asking = undefined;
  }
}

/** Lets the user choose a passkey, and returns the response as JSON. */
function getResponse(json: Json, options?: CallOptions & { autofill?: boolean }): Promise<Json> {
  const parse = browser.PublicKeyCredential?.parseRequestOptionsFromJSON?.bind(browser.PublicKeyCredential);
  const mediation = options?.autofill === true ? { mediation: 'conditional' } : {};
  return ask(
    (signal) =>
      browser.navigator?.credentials?.get({ publicKey: (parse ?? parseRequestOptions)(json), signal, ...mediation }),
    options,
  );
}

async function isSupported({ autofill = false } = {}): Promise<boolean> {
  if (browser.PublicKeyCredential === undefined || browser.navigator?.credentials === undefined) return false;
  return !autofill || ((await browser.PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false);
}

/** Finishes a sign-in that asks for a passkey after the password. */
export async function finishWithPasskey<User extends AuthUser>(
  { callAnonymously, finishSignIn }: AuthContext<User>,
  { mfaToken, options: json }: SignInChallenge,
  options?: CallOptions,
): Promise<SignInResult<User>> {
  const response = await getResponse(json ?? {}, options);
  return finishSignIn(await callAnonymously<object>('/auth/passkeys/second-factor', { mfaToken, response }, options));
}

/** Confirms with a passkey that the caller is the user, so that the session counts as a recent sign-in. */
export async function confirmWithPasskey(
  { callWithoutAsking }: Pick<AuthContext, 'callWithoutAsking'>,
  options?: CallOptions,
): Promise<void> {
  const json = await callWithoutAsking<Json>('/auth/passkeys/confirm/options', undefined, options);
  await callWithoutAsking('/auth/passkeys/confirm', { response: await getResponse(json, options) }, options);
}

/** Creates `client.auth.passkeys`. */
export function createPasskeyMethods<User extends AuthUser>(context: AuthContext<User>): PasskeyMethods<User> {
  const { call, callAnonymously, finishSignIn } = context;
  const pathOf = (id: string) => `/auth/passkeys/${encodeURIComponent(id)}`;
  return {
    isSupported,
    async signIn({ autofill = false, ...options } = {}) {
      if (!(await isSupported({ autofill })))
        throw createClientError(
          'PASSKEYS_UNSUPPORTED',
          `This browser has no passkeys${autofill ? ' in form fields' : ''}`,
        );
      type Started = { challengeId: string; options: Json };
      const started = await callAnonymously<Started>('/auth/passkeys/sign-in/options', undefined, options);
      const response = await getResponse(started.options, { ...options, autofill });
      const { challengeId } = started;
      return finishSignIn(await callAnonymously<object>('/auth/passkeys/sign-in', { challengeId, response }, options));
    },
    async add({ name, code } = {}, options) {
      const json = await call<Json>('POST', '/auth/passkeys/options', code === undefined ? {} : { code }, options);
      const parse = browser.PublicKeyCredential?.parseCreationOptionsFromJSON?.bind(browser.PublicKeyCredential);
      const response = await ask(
        (signal) =>
          browser.navigator?.credentials?.create({ publicKey: (parse ?? parseCreationOptions)(json), signal }),
        options,
      );
      return call('POST', '/auth/passkeys', { response, ...(name === undefined ? {} : { name }) }, options);
    },
    list: (options) => call('GET', '/auth/passkeys', undefined, options),
    rename: (id, name, options) => call('PATCH', pathOf(id), { name }, options),
    delete: (id, options) => call('DELETE', pathOf(id), undefined, options),
  };
}
