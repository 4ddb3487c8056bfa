import { ApiError } from '../request/errors.ts';
import type { AuthContext } from './context.ts';
import type { AuthUser } from './session.ts';
import type { SecondFactorRequired, SignInChallenge, SignInResult } from './sign-in-result.ts';
import type { StoredSession } from './storage.ts';

/** A response to a sign-in, as the server sends it. */
interface SignInResponse<User> extends Partial<SignInChallenge> {
  mfaRequired?: true;
  emailVerificationRequired?: true;
  verificationToken?: string;
  user?: User;
  token?: string;
  /** In place of the token, from the handler of `cookieSession`. */
  sessionId?: string;
}

type SignInContext<User extends AuthUser> = Pick<AuthContext<User>, 'session' | 'flows' | 'callAnonymously'>;

/** Creates the function that continues with the response to a sign-in. */
export function createSignInSteps<User extends AuthUser>(
  getContext: () => AuthContext<User>,
): {
  finish(response: object): Promise<SignInResult<User>>;
  resume(challenge: SignInChallenge): SecondFactorRequired<User>;
} {
  function resume(challenge: SignInChallenge): SecondFactorRequired<User> {
    const { mfaToken, methods, expiresAt } = challenge;
    return {
      status: 'secondFactor',
      methods,
      expiresAt,
      challenge,
      async verify(typed, { method, ...options } = {}) {
        const code = typed.replaceAll(/\s/g, '');
        const body = { mfaToken, code, method: method ?? (/^\d{6}$/.test(code) ? 'totp' : 'recovery') };
        return finish(await getContext().callAnonymously<object>('/auth/2fa/verify', body, options));
      },
      async verifyPasskey(options) {
        const { finishWithPasskey } = await import('./passkeys.ts');
        return finishWithPasskey(getContext(), challenge, options);
      },
    };
  }

  async function finish(response: object): Promise<SignInResult<User>> {
    const { mfaRequired, emailVerificationRequired, verificationToken, ...rest } = response as SignInResponse<User>;
    const { session, flows, callAnonymously }: SignInContext<User> = getContext();
    if (mfaRequired) return resume(rest as SignInChallenge);
    if (emailVerificationRequired) {
      await flows.write('verificationToken', verificationToken);
      return {
        status: 'emailVerification',
        verify: async (proof, options) =>
          finish(await callAnonymously<object>('/auth/email/verify', { ...proof, verificationToken }, options)),
      };
    }
    await session.start(toStoredSession(rest, session.hidesToken));
    await flows.remove('verificationToken');
    return { status: 'signedIn', user: rest.user! };
  }

  return { finish, resume };
}

/** Returns the session in a response. @throws ApiError if the response has none */
function toStoredSession<User>(
  { user, token, sessionId, expiresAt }: SignInResponse<User>,
  hidesToken: boolean,
): StoredSession<User> {
  const key = hidesToken ? sessionId : token;
  if (user !== undefined && typeof key === 'string') return { token: key, user, expiresAt };
  const message = hidesToken
    ? 'The response has no sessionId: the url of a client with cookieStorage must be that of the handler of cookieSession'
    : 'The response to the sign-in has no session';
  throw new ApiError({ status: 0, code: 'INVALID_RESPONSE', message });
}
