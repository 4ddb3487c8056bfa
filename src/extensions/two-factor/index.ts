import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/environment.ts';
import { openChallenge } from './challenge.ts';
import { challengeShape } from './output.ts';
import type { TwoFactorParts } from './parts.ts';
import { factorsOfDeletedUsers, twoFactorSweep } from './removal.ts';
import { twoFactorRoutes } from './routes.ts';
import { encryptedSecrets } from './secret.ts';
import { readSettings, settingsMistakes, type TwoFactorOptions } from './settings.ts';
import { twoFactorChallenges, twoFactors } from './tables.ts';

export type { TwoFactorOptions } from './settings.ts';

/**
 * Two-factor login: users who turn it on are asked for a code of their authenticator app, or for a recovery code, after their
 * password.
 *
 * @example createApp({ resources, extensions: [twoFactor({ issuer: 'Acme' })] }, process.env)
 */
export function twoFactor(options: TwoFactorOptions = {}): Extension {
  return defineExtension({
    name: 'two-factor',
    tables: { two_factors: twoFactors, two_factor_challenges: twoFactorChallenges },
    mistakes: () => settingsMistakes(options),
    setup(host) {
      const { accounts, env } = host;
      if (accounts === undefined) {
        throw new StartupError('twoFactor() cannot work:', ['it needs accounts, see defineUser']);
      }
      const issuer = env.appUrl === undefined ? host.settings.openapi.title : new URL(env.appUrl).host;
      const parts: TwoFactorParts = { host, accounts, settings: readSettings(options, issuer) };
      return {
        routes: twoFactorRoutes(parts),
        signInStep: { output: challengeShape, ask: (login) => openChallenge(parts, login) },
        consumers: [factorsOfDeletedUsers],
        sweeps: [twoFactorSweep(host.database)],
        encrypted: encryptedSecrets,
      };
    },
  });
}
