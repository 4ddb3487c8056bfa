import { ApiError } from '../request/errors.ts';
import type { ApiRequest, CallOptions, Requester } from '../request/request.ts';
import type { AuthUser, SessionStore } from './session.ts';
import type { SignInResult } from './sign-in-result.ts';
import type { FlowStorage } from './storage.ts';

/** What the parts of `client.auth` work with. */
export interface AuthContext<User extends AuthUser = AuthUser> {
  readonly requester: Requester;
  readonly session: SessionStore<User>;
  readonly flows: FlowStorage;
  /** Sends a request with the session, if there is one. Returns the data of the response. */
  call<Data = void>(method: ApiRequest['method'], path: string, json?: object, options?: CallOptions): Promise<Data>;
  /** Like `call`, but never asks for a recent sign-in: this is how it is confirmed. */
  callWithoutAsking<Data = void>(path: string, json?: object, options?: CallOptions): Promise<Data>;
  /** Sends a request without the session: the server refuses a token that has ended on public routes, too. */
  callAnonymously<Data = void>(path: string, json?: object, options?: CallOptions): Promise<Data>;
  /** Sends a request with the session, and without it if the session has ended. */
  callAsAnyone<Data = void>(path: string, json: object, options?: CallOptions): Promise<Data>;
  /** Continues with the response to a sign-in: starts the session, or returns the step that is missing. */
  finishSignIn(response: object): Promise<SignInResult<User>>;
}

/** Creates the error of a step that the browser or the user has refused, before or without a request. */
export function createClientError(
  code: string,
  message: string,
  { details, cause }: { details?: Record<string, string>; cause?: unknown } = {},
): ApiError {
  return new ApiError({ status: 0, code, message, details, cause });
}

/** What `AuthContext` has to send requests with. */
export function createCalls(
  requester: () => Requester,
  session: Pick<SessionStore<AuthUser>, 'getToken'>,
): Pick<AuthContext, 'call' | 'callWithoutAsking' | 'callAnonymously' | 'callAsAnyone'> {
  async function send<Data>(request: ApiRequest): Promise<Data> {
    return (await requester().send<Data>(request)).data;
  }
  const callAnonymously = <Data>(path: string, json?: object, options?: CallOptions) =>
    send<Data>({ ...options, method: 'POST', path, json, token: null });

  return {
    call: (method, path, json, options) => send({ ...options, method, path, json }),
    // A request that names its token is not repeated after a confirmation.
    callWithoutAsking: async (path, json, options) =>
      send({ ...options, method: 'POST', path, json, token: (await session.getToken()) ?? null }),
    callAnonymously,
    async callAsAnyone<Data>(path: string, json: object, options?: CallOptions) {
      const token = await session.getToken();
      try {
        return await send<Data>({ ...options, method: 'POST', path, json });
      } catch (error) {
        const hasEnded = error instanceof ApiError && error.status === 401 && (await session.getToken()) !== token;
        if (!hasEnded) throw error;
        return callAnonymously<Data>(path, json, options);
      }
    },
  };
}

/**
 * Creates an object whose methods load their code when the first of them is called.
 *
 * @param load imports the code and returns the object with the methods, all of which return promises
 */
export function loadOnUse<Methods extends object>(load: () => Promise<Methods>): Methods {
  let loaded: Promise<Methods> | undefined;
  const target: Record<PropertyKey, unknown> = {};
  return new Proxy(target, {
    get(own, name) {
      // `await` and templates ask every object for these.
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined;
      own[name] ??= async (...given: unknown[]) => {
        loaded ??= load().catch((error: unknown) => {
          // A chunk that could not be loaded is tried again with the next call.
          loaded = undefined;
          throw error;
        });
        const methods = (await loaded) as Record<string, (...given: unknown[]) => unknown>;
        if (typeof methods[name] !== 'function') throw new TypeError(`${name} is not a function`);
        return methods[name](...given);
      };
      return own[name];
    },
  }) as Methods;
}
