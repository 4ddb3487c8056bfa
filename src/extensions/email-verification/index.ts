import {
  createEmailProofs,
  defineExtension,
  type Extension,
  StartupError,
  type VerifiedEmailFields,
  verifiedEmailFields,
} from '../../extension/index.ts';
import { createVerificationPanel } from './account-panel.ts';
import { createFormerAddressNotice } from './change.ts';
import { type EmailVerificationContext, type EmailVerificationOptions, emailVerificationSettings } from './context.ts';
import { createRegistrationConsumer, createVerificationMails } from './mails.ts';
import { emailVerificationRoutes } from './routes.ts';
import { verificationRequiredShape } from './shapes.ts';
import { askForVerification } from './verify.ts';

export type { EmailVerificationOptions } from './context.ts';

/**
 * Verifies the e-mail addresses of users with a link or a code, and lets users change their address. Policies can use the word `verified`.
 *
 * @example createApp({ resources, extensions: [emailVerification({ required: true })] }, process.env)
 */
export function emailVerification(
  options: EmailVerificationOptions = {},
): Extension<string, object, { userFields: VerifiedEmailFields }> {
  return defineExtension({
    name: 'emailVerification',
    userFields: verifiedEmailFields,
    settings: emailVerificationSettings,
    options,
    setup(host, settings) {
      const { accounts, users, database } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('emailVerification() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const proofs = {
        verify: createEmailProofs(database, 'verify'),
        change: createEmailProofs(database, 'change'),
        undo: createEmailProofs(database, 'undo'),
      };
      const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
      const { mailLimit } = settings;
      const limiter =
        enabled && mailLimit !== false ? host.limits.limiter('e-mail verification', mailLimit) : undefined;
      const mayMail = async (key: string) => limiter === undefined || (await limiter.consume(key)).allowed;
      const context: EmailVerificationContext = { host, accounts, users, settings, proofs, mayMail };
      const step = {
        output: verificationRequiredShape,
        registrationOutput: verificationRequiredShape,
        ask: (login: Parameters<typeof askForVerification>[1]) => askForVerification(context, login),
      };
      return {
        routes: emailVerificationRoutes(context),
        mails: createVerificationMails(context),
        accountPanels: [createVerificationPanel(context)],
        emailChangeStep: createFormerAddressNotice(context),
        // With `required`, the registration itself sends the e-mail, because its link must work only together with the client's secret.
        ...(settings.required ? { signInStep: step } : { consumers: [createRegistrationConsumer(context)] }),
      };
    },
  });
}
