import {
  createEmailProofs,
  defineExtension,
  type Extension,
  isEmailVerified,
  type Route,
  StartupError,
  type VerifiedEmailFields,
  verifiedEmailFields,
  withoutCaching,
} from '../../extension/index.ts';
import { createFormerAddressConsumer } from './former-addresses.ts';
import { createSignInMailComposer, requestInput, requestOutput, requestSignIn, SIGN_IN_MAIL } from './request.ts';
import { type EmailSignInContext, type EmailSignInOptions, emailSignInSettings } from './settings.ts';
import { verifyAndSignIn, verifyInput } from './verify.ts';

export type { EmailSignInOptions } from './settings.ts';

/** The routes of the extension. Their responses contain secrets and must not be cached. */
function emailSignInRoutes(context: EmailSignInContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/email-sign-in',
      policy: 'public',
      rateLimit: 'auth',
      input: requestInput,
      output: requestOutput,
      errors: [],
      status: 202,
      operationId: 'requestEmailSignIn',
      tags: ['auth'],
      summary: 'Request an e-mail with a link and a code to sign in',
      handler: withoutCaching(context, requestSignIn),
    },
    {
      method: 'POST',
      path: '/auth/email-sign-in/verify',
      policy: 'public',
      rateLimit: 'auth',
      input: verifyInput,
      get output() {
        return context.accounts.loginOutput();
      },
      errors: ['INVALID_TOKEN', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'verifyEmailSignIn',
      tags: ['auth'],
      summary: 'Start a session with the token of the link or with the code',
      description: 'Works only with the `signInToken` of the request that caused the e-mail.',
      handler: withoutCaching(context, verifyAndSignIn),
    },
  ];
}

/**
 * Sign-in with a link or a six-digit code that is sent by e-mail. It needs no password, and can create the account at the first sign-in.
 *
 * @example createApp({ resources, extensions: [emailSignIn({ url: 'https://app.example.com/sign-in' })] }, process.env)
 */
export function emailSignIn(
  options: EmailSignInOptions = {},
): Extension<string, object, { userFields: VerifiedEmailFields }> {
  return defineExtension({
    name: 'emailSignIn',
    settings: emailSignInSettings,
    options,
    userFields: verifiedEmailFields,
    setup(host, settings) {
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('emailSignIn() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const context: EmailSignInContext = {
        host,
        accounts,
        users,
        settings,
        proofs: createEmailProofs(host.database, 'sign-in'),
        canRegister: settings.register && host.settings.auth.register,
      };
      return {
        routes: emailSignInRoutes(context),
        mails: { [SIGN_IN_MAIL]: createSignInMailComposer(context) },
        signInMethods: [{ name: 'email_link', isUsableBy: async (user) => isEmailVerified(user) }],
        consumers: [createFormerAddressConsumer(users)],
      };
    },
  });
}
