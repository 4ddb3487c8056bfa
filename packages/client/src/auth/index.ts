import type { CallOptions, Requester, TokenSource } from '../request/request.ts';
import type {
  IdentityMethods,
  InvitationMethods,
  OrganisationMethods,
  SessionMethods,
  TwoFactorMethods,
} from './account.ts';
import { type AuthContext, createCalls, loadOnUse } from './context.ts';
import type { EmailMethods, EmailSignInMethods, PasswordMethods } from './email.ts';
import type { OidcMethods } from './oidc.ts';
import type { PasskeyMethods } from './passkeys.ts';
import { type AuthUser, isUnauthorized, type Session, type SessionListener, SessionStore } from './session.ts';
import { createSignInSteps } from './sign-in.ts';
import type { SecondFactorRequired, SignInChallenge, SignInResult } from './sign-in-result.ts';
import { createFlowStorage, defaultStorage, type KeyValueStorage, type SessionStorage } from './storage.ts';

/** The options of the client that concern sign-in. */
export interface AuthOptions {
  /** Where the session is kept. Default: `localStorageSession()` in browsers, otherwise `memoryStorage()`. */
  storage?: SessionStorage | undefined;
  /** Where unfinished sign-ins are kept. Default: `sessionStorage` and `localStorage` in browsers, otherwise the memory. */
  flowStorage?: KeyValueStorage | undefined;
  /**
   * Called when a request needs a recent sign-in (`RECENT_SIGN_IN_REQUIRED`): ask the user, and call `client.auth.confirm`. If it resolves with
   * true, the request is sent again. Requests that fail at the same time share one call.
   */
  onRecentSignInRequired?: (() => boolean | Promise<boolean>) | undefined;
}

/** A user of whose fields the compiler knows nothing. */
type LooseUser = AuthUser & { [field: string]: unknown };

/**
 * `client.auth`: sign-in, and the account of the signed-in user. Methods reject with an `ApiError`.
 *
 * @example
 * const result = await client.auth.signIn({ email, password });
 * if (result.status === 'secondFactor') await result.verify(code);
 */
export interface ClientAuth<
  User extends AuthUser = LooseUser,
  Registration = Record<string, unknown>,
  Changes = Record<string, unknown>,
> {
  /** The session; undefined without one, or before `ready`. It is the same object until something changes. */
  readonly session: Session<User> | undefined;
  /**
   * Waits until the storage has been read, and until the user is known. Call it once when the app starts.
   *
   * @param options `refresh`: read the user from the API, even if the storage has it
   */
  ready(options?: CallOptions & { refresh?: boolean }): Promise<Session<User> | undefined>;
  /** Calls the listener when the session changes, in this tab or another one. Returns an unsubscribe function. */
  subscribe(listener: SessionListener<User>): () => void;
  /** Reads the user from the API. Returns undefined without a session. */
  user(options?: CallOptions): Promise<User | undefined>;
  /** Changes fields of the profile. */
  updateUser(changes: Changes, options?: CallOptions): Promise<User>;
  /** Creates an account and signs in. */
  register(fields: Registration, options?: CallOptions): Promise<SignInResult<User>>;
  /** Signs in with the password. */
  signIn(credentials: { email: string; password: string }, options?: CallOptions): Promise<SignInResult<User>>;
  /** Goes on with a sign-in that waits for the second factor, on another page. */
  resumeSignIn(challenge: SignInChallenge): SecondFactorRequired<User>;
  /**
   * Ends the session. It ends in this browser at once, also if the API cannot be reached; then the promise rejects. A session in a cookie ends
   * when the server responds.
   */
  signOut(options?: CallOptions): Promise<void>;
  /** Ends all sessions of the user. `disableWebhooks`: also disable their webhook endpoints. */
  signOutEverywhere(options?: CallOptions & { disableWebhooks?: boolean }): Promise<void>;
  /**
   * Confirms that the user is still there, so that requests that need a recent sign-in are accepted.
   *
   * @param proof `code`: of two-factor login, if it is on
   */
  confirm(proof: { password: string; code?: string } | { passkey: true }, options?: CallOptions): Promise<void>;
  /** Lists the ways in which the user can sign in: `password`, `email_link`, `passkey`, `oidc:google` and others. */
  methods(options?: CallOptions): Promise<string[]>;
  readonly password: PasswordMethods;
  readonly emailSignIn: EmailSignInMethods<User>;
  readonly email: EmailMethods<User>;
  readonly passkeys: PasskeyMethods<User>;
  readonly oidc: OidcMethods<User>;
  readonly twoFactor: TwoFactorMethods;
  readonly sessions: SessionMethods;
  readonly identities: IdentityMethods;
  readonly invitations: InvitationMethods<User>;
  readonly organisation: OrganisationMethods;
}

/**
 * Creates `client.auth`.
 *
 * @param options `url` of the app; `requester`: called when the first request is sent, because the requester needs the token source
 */
export function createAuth({
  url,
  requester,
  storage,
  flowStorage,
  onRecentSignInRequired,
}: AuthOptions & { url: string; requester: () => Requester }): ClientAuth & TokenSource {
  const session = new SessionStore<LooseUser>(storage ?? defaultStorage(url), requester);
  const calls = createCalls(requester, session);
  const { call, callAnonymously } = calls;
  const steps = createSignInSteps<LooseUser>(() => context);
  const context: AuthContext<LooseUser> = {
    ...calls,
    session,
    flows: createFlowStorage(flowStorage),
    get requester() {
      return requester();
    },
    finishSignIn: steps.finish,
  };
  const loadAccount = async () => (await import('./account.ts')).createAccountMethods(context);
  const loadEmail = async () => (await import('./email.ts')).createEmailMethods(context);

  /** One question for all requests that wait for it. */
  let asking: Promise<boolean> | undefined;

  /** @param token of the request that needs the confirmation */
  async function confirmRecentSignIn(token: string): Promise<boolean> {
    const userId = session.current?.user.id;
    // Another user has signed in since the request was sent.
    if (onRecentSignInRequired === undefined || session.token !== token) return false;
    asking ??= Promise.resolve(onRecentSignInRequired()).finally(() => {
      asking = undefined;
    });
    if (!(await asking)) return false;
    // The request of one user must not be sent for another one, who has signed in meanwhile.
    return session.token === token || (userId !== undefined && session.current?.user.id === userId);
  }

  /** Ends sessions on the server. That this one has ended already is no error. */
  async function endOnServer(token: string, path: string, json?: object, options?: CallOptions): Promise<void> {
    try {
      await context.requester.send({ ...options, method: 'POST', path, json, token });
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
    }
  }

  async function signOut(options?: CallOptions): Promise<void> {
    const token = await session.getToken();
    if (token === undefined) return;
    // The response removes a cookie. A token can be forgotten at once.
    if (!session.hidesToken) await session.end(token);
    await endOnServer(token, '/auth/logout', undefined, options);
    if (session.hidesToken) await session.end(token);
  }

  return {
    get session() {
      return session.current;
    },
    async ready({ refresh = false, ...options } = {}) {
      await session.settle();
      if (session.token !== undefined && (refresh || session.current === undefined)) await session.refreshUser(options);
      return session.current;
    },
    subscribe: session.subscribe,
    user: session.refreshUser,
    async updateUser(changes, options) {
      const token = await session.getToken();
      const user = await call<LooseUser>('PATCH', '/auth/me', changes, options);
      if (token !== undefined) await session.changeUser(token, () => user);
      return user;
    },
    register: async (fields, options) => steps.finish(await callAnonymously<object>('/auth/register', fields, options)),
    signIn: async ({ email, password }, options) =>
      steps.finish(await callAnonymously<object>('/auth/login', { email, password }, options)),
    resumeSignIn: steps.resume,
    signOut,
    async signOutEverywhere({ disableWebhooks = false, ...options } = {}) {
      const token = await session.getToken();
      if (token === undefined) return;
      await endOnServer(token, '/auth/logout-all', { disableWebhooks }, options);
      await session.end(token);
    },
    async confirm(proof, options) {
      if ('passkey' in proof) {
        const { confirmWithPasskey } = await import('./passkeys.ts');
        return confirmWithPasskey(context, options);
      }
      return calls.callWithoutAsking('/auth/reauthenticate', proof, options);
    },
    methods: (options) => call('GET', '/auth/sign-in-methods', undefined, options),
    password: loadOnUse(async () => (await loadEmail()).password),
    emailSignIn: loadOnUse(async () => (await loadEmail()).emailSignIn),
    email: loadOnUse(async () => (await loadEmail()).email),
    passkeys: loadOnUse(async () => (await import('./passkeys.ts')).createPasskeyMethods(context)),
    oidc: loadOnUse(async () => (await import('./oidc.ts')).createOidcMethods(context)),
    twoFactor: loadOnUse(async () => (await loadAccount()).twoFactor),
    sessions: loadOnUse(async () => (await loadAccount()).sessions),
    identities: loadOnUse(async () => (await loadAccount()).identities),
    invitations: loadOnUse(async () => (await loadAccount()).invitations),
    organisation: loadOnUse(async () => (await loadAccount()).organisation),
    getToken: session.getToken,
    onTokenRefused: session.onTokenRefused,
    confirmRecentSignIn,
  };
}
