import { defineExtension, type Extension, StartupError } from '../../extension/index.ts';
import { createPasskeyPanel } from './account-panel.ts';
import { createPasskeyFactor } from './confirmation.ts';
import { passkeySignInMethod } from './passkeys.ts';
import { passkeyRoutes } from './routes.ts';
import { askForPasskey } from './second-factor.ts';
import { completePasskeySettings, type PasskeyContext, type PasskeyOptions, passkeySettings } from './settings.ts';
import { secondFactorShape } from './shapes.ts';
import { passkeyChallenges, passkeyTable } from './sql.ts';
import { createPasskeyRowParts } from './user-data.ts';

export type { PasskeyOptions } from './settings.ts';

/**
 * Passkeys: users sign in with their device instead of a password, by fingerprint, face or PIN (WebAuthn).
 *
 * @example createApp({ resources, extensions: [passkeys({ rpId: 'example.com', origins: ['https://app.example.com'] })] }, process.env)
 */
export function passkeys(options: PasskeyOptions = {}): Extension {
  return defineExtension({
    name: 'passkeys',
    tables: { passkeys: passkeyTable, passkey_challenges: passkeyChallenges },
    settings: passkeySettings,
    options,
    setup(host, given) {
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('passkeys() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const { settings, errors } = completePasskeySettings(given, host);
      if (errors.length > 0) throw new StartupError('passkeys() cannot work:', errors);
      const context: PasskeyContext = { host, accounts, users, settings };
      return {
        routes: passkeyRoutes(context),
        accountPanels: [createPasskeyPanel(context)],
        ...(settings.secondFactor && {
          signInStep: { output: secondFactorShape, ask: (login) => askForPasskey(context, login) },
          secondFactors: [createPasskeyFactor(host)],
        }),
        signInMethods: [passkeySignInMethod],
        ...createPasskeyRowParts(host.database, users),
      };
    },
  });
}
