import type { Accounts } from '../declare/accounts.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceGateway } from '../declare/host.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { RecordsContext } from '../records/operations/context.ts';
import type { Entity } from '../records/store/entity.ts';
import { type Administration, createAdministration } from './administration.ts';
import { createAccountsApi } from './api.ts';
import { createDevicePanel } from './devices/account-panel.ts';
import { deviceRoutes, devices, type TokenRule } from './devices/index.ts';
import { emailProofs } from './email-proofs/store.ts';
import { createIdentityPanel } from './identities/account-panel.ts';
import { identityRoutes } from './identities/routes.ts';
import { userIdentities } from './identities/store.ts';
import { createLockoutSection } from './lockout/account-section.ts';
import { createPasswordPanel } from './password-panel.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import { createResetFeature, passwordResets } from './reset/index.ts';
import { accountRoutes } from './routes.ts';
import { type AccountServices, type AddedSteps, createAccountServices } from './services.ts';
import { createSessionPanel } from './sessions/account-panel.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { type Sessions, sessions as sessionTable } from './sessions/sessions.ts';
import { countSignIns } from './sign-in/metrics.ts';
import { createUserRowParts } from './user-rows.ts';
import { VERIFICATION_OF_ADDRESS } from './users/verified-email.ts';

/** The tables of accounts, by name. */
export const accountTables = {
  sessions: sessionTable,
  devices,
  password_resets: passwordResets,
  user_identities: userIdentities,
  email_proofs: emailProofs,
};

/** The accounts feature of an app. */
interface AppAccounts {
  /** The functions that extensions may call. */
  api: Accounts;
  /** The functions of the admin command line. */
  administration: Administration;
  /** Starts a session for a user without a login, for tests. */
  startSession: Sessions['startSession'];
  /** Creates the routes, consumers and sweeps; sign-in, revocation and confirmation run the steps of extensions. */
  createFeatureParts(steps: AddedSteps): FeatureParts;
}

/**
 * Creates the accounts of an app.
 *
 * @param user the user resource
 * @param deviceTokens decides which device tokens are accepted
 */
export function createAccounts(
  host: Host,
  hasher: PasswordHasher,
  context: RecordsContext,
  user: Entity,
  gateway: ResourceGateway,
  deviceTokens: TokenRule,
): AppAccounts {
  countSignIns(host);
  const services = createAccountServices(host, hasher, context, user, gateway);
  const { accounts, power } = services;
  const { name, field } = user.resource;
  context.deletionSteps.set(name, (userIds, { req }, tx) =>
    accounts.revoke({ cause: 'user_deleted', userIds, ip: req && addressOf(req) }, tx),
  );
  if (field.has('emailVerifiedAt')) context.derivedChanges.set(name, VERIFICATION_OF_ADDRESS);
  context.changeGuards.set(name, power.guard);
  return {
    startSession: accounts.sessions.startSession,
    administration: createAdministration(host, context, user, gateway, accounts),
    api: createAccountsApi(services),
    createFeatureParts(steps) {
      services.use(steps);
      return createFeatureParts(services, context, gateway, deviceTokens);
    },
  };
}

/** Creates the parts of the feature, after the steps of all extensions are added. */
function createFeatureParts(
  { accounts, identities, links, methods, holdCredential, lockUser, confirmIdentity, signInContext }: AccountServices,
  context: RecordsContext,
  gateway: ResourceGateway,
  deviceTokens: TokenRule,
): FeatureParts {
  const { host, users, sessions } = accounts;
  const whole = signInContext();
  const reset = createResetFeature(whole);
  return {
    routes: [
      ...accountRoutes(whole, context),
      ...reset.routes,
      ...sessionRoutes({ ...accounts, confirmIdentity }),
      ...identityRoutes({ host, users, identities, accounts: { lockUser, ...links }, methods }),
      ...deviceRoutes(host, deviceTokens, sessions.authenticator, holdCredential),
    ],
    accountPanels: [
      createPasswordPanel(accounts),
      createSessionPanel(accounts),
      createIdentityPanel({ host, identities, lockUser }),
      createDevicePanel(host.database),
    ],
    accountSections: host.settings.auth.lockout.maxAttempts === 0 ? [] : [createLockoutSection(accounts)],
    authenticators: [sessions.authenticator],
    mails: reset.mails,
    ...createUserRowParts(host.database, gateway),
  };
}
