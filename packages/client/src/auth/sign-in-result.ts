import type { CallOptions } from '../request/request.ts';
import type { AuthUser } from './session.ts';

/** The result of a sign-in: it is complete, or a step is missing. */
export type SignInResult<User = AuthUser> =
  | SignedIn<User>
  | SecondFactorRequired<User>
  | EmailVerificationRequired<User>;

/** The session has started. */
export interface SignedIn<User = AuthUser> {
  status: 'signedIn';
  user: User;
}

/** A kind of second factor: a code of an authenticator app, a recovery code, or a passkey. */
export type SecondFactorMethod = 'totp' | 'recovery' | 'passkey';

/** A sign-in that waits for the second factor. It is plain data, so that another page can go on with it by `resumeSignIn`. */
export interface SignInChallenge {
  mfaToken: string;
  methods: SecondFactorMethod[];
  /** When the sign-in can no longer be finished, as ISO text. */
  expiresAt: string;
  /** For a passkey: the options for the authenticator. */
  options?: Record<string, unknown>;
}

/** The credential was right, and the second factor is missing. */
export interface SecondFactorRequired<User = AuthUser> {
  status: 'secondFactor';
  methods: SecondFactorMethod[];
  expiresAt: string;
  /** Keeps the sign-in for another page: see `resumeSignIn`. */
  challenge: SignInChallenge;
  /**
   * Finishes the sign-in with a code.
   *
   * @param method default: `totp` for six digits, otherwise `recovery`
   * @throws ApiError 401 with `details.code`: the code is wrong, try again. Any other 401: sign in again
   */
  verify(code: string, options?: CallOptions & { method?: 'totp' | 'recovery' }): Promise<SignInResult<User>>;
  /**
   * Finishes the sign-in with a passkey, once.
   *
   * @throws ApiError `PASSKEY_CANCELLED`, `PASSKEYS_UNSUPPORTED`; 401: sign in again
   */
  verifyPasskey(options?: CallOptions): Promise<SignInResult<User>>;
}

/** The account has no session before its e-mail address is verified. An e-mail with a link and a code is on its way. */
export interface EmailVerificationRequired<User = AuthUser> {
  status: 'emailVerification';
  /** Finishes with the code or the token of the e-mail. The client remembers the sign-in, so that `client.auth.email.verify` can, too. */
  verify(proof: { code: string } | { token: string }, options?: CallOptions): Promise<SignInResult<User>>;
}
