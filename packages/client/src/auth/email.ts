import type { CallOptions } from '../request/request.ts';
import { type AuthContext, createClientError } from './context.ts';
import type { AuthUser } from './session.ts';
import type { SignInResult } from './sign-in-result.ts';

/** What an e-mail contains: the token in the fragment of its link, or the six-digit code. */
export type MailProof = { token: string } | { code: string };

/** `client.auth.emailSignIn`: sign-in with a link or a code that the server sends by e-mail. */
export interface EmailSignInMethods<User = AuthUser> {
  /** Sends the e-mail. The client remembers the request, so that the link works in a new tab of this browser. */
  start(input: { email: string }, options?: CallOptions): Promise<void>;
  /** Returns the address of the request that waits for its link or code; undefined if there is none in this browser. */
  pending(): Promise<{ email: string } | undefined>;
  /**
   * Signs in with the token of the link or the code.
   *
   * @throws ApiError `INVALID_TOKEN`: wrong, expired or used. `NOT_STARTED`: the request was made in another browser; there, the user can
   *   enter the code
   */
  finish(proof: MailProof, options?: CallOptions): Promise<SignInResult<User>>;
}

/** A verified address. */
export interface VerifiedEmail {
  email: string;
  emailVerifiedAt: string;
}

/** The result of a verification: with a session its address is verified; otherwise the sign-in that waited for it goes on. */
export type VerificationResult<User = AuthUser> = ({ status: 'verified' } & VerifiedEmail) | SignInResult<User>;

/** `client.auth.email`: verifies and changes the address of the account. */
export interface EmailMethods<User = AuthUser> {
  /** Sends another e-mail to verify the address of the signed-in user. @throws ApiError `CONFLICT` if it is verified */
  sendVerification(options?: CallOptions): Promise<void>;
  /**
   * Verifies the address with the token of the link or the code. Works with a session, and in the browser that has registered or signed in
   * to an account that needs a verified address first.
   */
  verify(proof: MailProof, options?: CallOptions): Promise<VerificationResult<User>>;
  /**
   * Sends an e-mail to a new address. Needs a recent sign-in.
   *
   * @param input `code`: of two-factor login, if it is on
   */
  change(input: { email: string; code?: string }, options?: CallOptions): Promise<void>;
  /** Changes the address, with the token or the code of that e-mail. All other sessions of the user end. */
  confirmChange(proof: MailProof, options?: CallOptions): Promise<VerifiedEmail>;
  /** Undoes a change with the link in the e-mail to the former address. All sessions of the account end. */
  undoChange(input: { token: string }, options?: CallOptions): Promise<void>;
}

/** `client.auth.password`. */
export interface PasswordMethods {
  /**
   * Changes the password. All other sessions of the user end.
   *
   * @param input without `currentPassword` for a user who has no password yet; this needs a recent sign-in
   */
  change(input: { currentPassword?: string; newPassword: string }, options?: CallOptions): Promise<void>;
  /** Sends an e-mail with a link, if the address has an account. The response does not reveal whether it has one. */
  forgot(input: { email: string }, options?: CallOptions): Promise<void>;
  /** Sets a new password with the token of that link. All sessions of the user end. @throws ApiError `INVALID_TOKEN` */
  reset(input: { token: string; password: string }, options?: CallOptions): Promise<void>;
}

/** A request for a sign-in by e-mail, as the sign-in pages of Belfry store it, too. */
interface PendingSignIn {
  signInToken: string;
  email: string;
}

/** Creates `client.auth.emailSignIn`, `.email` and `.password`. */
export function createEmailMethods<User extends AuthUser>(
  context: AuthContext<User>,
): { emailSignIn: EmailSignInMethods<User>; email: EmailMethods<User>; password: PasswordMethods } {
  const { session, flows, call, callAnonymously, callAsAnyone, finishSignIn } = context;

  /** Adds what a response says about the address to the user of the session that has sent the request. */
  async function takeAddress<Verified extends VerifiedEmail>(token: string | undefined, verified: Verified) {
    const { email, emailVerifiedAt } = verified;
    if (token !== undefined) {
      await session.changeUser(token, (user) => (user === undefined ? user : { ...user, email, emailVerifiedAt }));
    }
    return verified;
  }

  return {
    emailSignIn: {
      async start({ email }, options) {
        const path = '/auth/email-sign-in';
        const { signInToken } = await callAnonymously<{ signInToken: string }>(path, { email }, options);
        await flows.write('emailSignIn', { signInToken, email });
      },
      async pending() {
        const started = await flows.read<PendingSignIn>('emailSignIn');
        return started && { email: started.email };
      },
      async finish(proof, options) {
        const { signInToken } = (await flows.read<PendingSignIn>('emailSignIn')) ?? {};
        if (signInToken === undefined)
          throw createClientError('NOT_STARTED', 'This sign-in began in another browser: enter the code there');
        const path = '/auth/email-sign-in/verify';
        const result = await finishSignIn(await callAnonymously<object>(path, { signInToken, ...proof }, options));
        await flows.remove('emailSignIn');
        return result;
      },
    },
    email: {
      async sendVerification(options) {
        await call('POST', '/auth/email/verification', undefined, options);
      },
      async verify(proof, options) {
        const verificationToken = await flows.read<string>('verificationToken');
        const token = await session.getToken();
        const path = '/auth/email/verify';
        // A registration or sign-in that waits is newer than the session, which may be that of another account.
        const response = await (verificationToken === undefined
          ? callAsAnyone<object>(path, proof, options)
          : callAnonymously<object>(path, { ...proof, verificationToken }, options));
        if (!('emailVerifiedAt' in response)) return finishSignIn(response);
        return { status: 'verified', ...(await takeAddress(token, response as VerifiedEmail)) };
      },
      async change(input, options) {
        await call('POST', '/auth/email', input, options);
      },
      async confirmChange(proof, options) {
        const token = await session.getToken();
        return takeAddress(token, await call<VerifiedEmail>('POST', '/auth/email/confirm', proof, options));
      },
      undoChange: (input, options) => callAnonymously('/auth/email/undo', input, options),
    },
    password: {
      change: (input, options) => call('POST', '/auth/password', input, options),
      async forgot(input, options) {
        await callAnonymously('/auth/password/forgot', input, options);
      },
      reset: (input, options) => callAnonymously('/auth/password/reset', input, options),
    },
  };
}
