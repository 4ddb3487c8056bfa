import { defineExtension, type Extension, StartupError } from '../../extension/index.ts';
import { createTwoFactorPanel } from './account-panel.ts';
import { openChallengeIfEnabled } from './challenge.ts';
import { createCodeConfirmStep, readEnabledAt } from './changes.ts';
import { encryptedSecrets } from './codes.ts';
import type { TwoFactorContext } from './context.ts';
import { type TwoFactorOptions, twoFactorSettings } from './context.ts';
import { twoFactorRoutes } from './routes.ts';
import { challengeShape } from './shapes.ts';
import { twoFactorChallenges, twoFactors } from './sql.ts';
import { createTwoFactorRowParts } from './user-data.ts';

export type { TwoFactorOptions } from './context.ts';

/**
 * Two-factor login: users who turn it on must enter a code of their authenticator app, or a recovery code, after their password.
 *
 * @example createApp({ resources, extensions: [twoFactor({ issuer: 'Acme' })] }, process.env)
 */
export function twoFactor(options: TwoFactorOptions = {}): Extension {
  return defineExtension({
    name: 'twoFactor',
    tables: { two_factors: twoFactors, two_factor_challenges: twoFactorChallenges },
    settings: twoFactorSettings,
    options,
    setup(host, settings) {
      const { accounts, env, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('twoFactor() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const issuer = env.appUrl === undefined ? host.settings.openapi.title : new URL(env.appUrl).host;
      const context: TwoFactorContext = { host, accounts, users, settings: { issuer, ...settings } };
      return {
        routes: twoFactorRoutes(context),
        accountPanels: [createTwoFactorPanel(context)],
        signInStep: { output: challengeShape, ask: (login) => openChallengeIfEnabled(context, login) },
        confirmStep: createCodeConfirmStep(context),
        secondFactors: [{ hasCodes: true, since: (userId) => readEnabledAt(host.database, userId) }],
        ...createTwoFactorRowParts(host, users),
        encrypted: encryptedSecrets,
      };
    },
  });
}
