import type { Accounts, ConfirmStep, RevocationStep } from '../declare/accounts.ts';
import { credentialWatchOf } from '../declare/authenticator.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceGateway } from '../declare/host.ts';
import { invalidSessionError } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { quoteIdentifier } from '../platform/postgres/identifiers.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { type Administration, createAdministration } from './administration.ts';
import type { AccountsContext } from './context.ts';
import {
  deviceRemovalConsumer,
  deviceRoutes,
  devices,
  removeDevicesOfDeletedUsers,
  type TokenRule,
} from './devices/index.ts';
import { createLockout } from './lockout/lockout.ts';
import { confirmPassword } from './passwords/change-password.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import { createResetFeature, createResets, passwordResets } from './reset/index.ts';
import { accountRoutes } from './routes.ts';
import { sessionRoutes } from './sessions/routes.ts';
import {
  createSessionRemovalConsumer,
  createSessionSweep,
  createSessions,
  type Sessions,
  sessions as sessionTable,
} from './sessions/sessions.ts';
import { resumeLogin } from './sign-in/finish-login.ts';
import { countSignIns } from './sign-in/metrics.ts';
import { createFormerAddressConsumer, describeAccountUserData } from './users/user-data.ts';
import { activeUserSql } from './users/user-state.ts';
import { createUsers } from './users/users.ts';

/** The tables of accounts, by name. */
export const accountTables = { sessions: sessionTable, devices, password_resets: passwordResets };

/** The accounts feature of an app. */
interface AppAccounts {
  /** The functions that extensions may call. */
  api: Accounts;
  /** The functions of the admin command line. */
  administration: Administration;
  /** Starts a session for a user without a login, for tests. */
  startSession: Sessions['startSession'];
  /** Creates the routes, consumers and sweeps; sign-in, revocation and confirmation run the steps of extensions. */
  createFeatureParts(steps: Pick<FeatureParts, 'signInStep' | 'revocationStep' | 'confirmStep'>): FeatureParts;
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
  const sessions = createSessions(host, user, gateway);
  const resets = createResets(host.database, gateway, host.settings.auth.resetTokenTtlMinutes);
  const ownSteps = [sessions.revoke, removeDevicesOfDeletedUsers, resets.revoke];
  let revocationSteps: readonly RevocationStep[] = ownSteps;
  const { revoke, holdCredential } = createRevocation(gateway, () => revocationSteps);
  context.deletionSteps.set(user.resource.name, (userIds, { req }, tx) =>
    revoke({ cause: 'user_deleted', userIds, ip: req && addressOf(req) }, tx),
  );
  const accounts: Omit<AccountsContext, 'signInStep'> = {
    host,
    hasher,
    user,
    sessions,
    users: createUsers(host, context, user, gateway),
    lockout: createLockout(host),
    resets,
    revoke,
  };
  let extensionConfirm: ConfirmStep | undefined;
  return {
    startSession: sessions.startSession,
    administration: createAdministration(host, context, user, gateway, accounts),
    api: {
      revoke,
      holdCredential,
      resumeLogin: (login, ctx) => resumeLogin(accounts, login, ctx),
      async confirmPassword(userId, password, field) {
        await confirmPassword(accounts, userId, password, field);
      },
      async confirmIdentity(ctx, { password, code }, fields) {
        await confirmPassword(accounts, ctx.user!.id, password, fields.password);
        await extensionConfirm?.(ctx, code, fields.code);
      },
    },
    createFeatureParts({ signInStep, revocationStep, confirmStep }) {
      extensionConfirm = confirmStep;
      if (revocationStep !== undefined) revocationSteps = [...ownSteps, revocationStep];
      const whole = { ...accounts, signInStep };
      const reset = createResetFeature(whole, gateway);
      return {
        routes: [
          ...accountRoutes(whole, context),
          ...reset.routes,
          ...sessionRoutes(accounts),
          ...deviceRoutes(host, deviceTokens, sessions.authenticator, holdCredential),
        ],
        authenticators: [sessions.authenticator],
        mails: reset.mails,
        consumers: [
          createSessionRemovalConsumer(gateway),
          deviceRemovalConsumer(gateway),
          createFormerAddressConsumer(gateway),
          ...reset.consumers,
        ],
        sweeps: [createSessionSweep(host.database), ...reset.sweeps],
        userData: describeAccountUserData(host.database, gateway),
      };
    },
  };
}

/**
 * Creates the only function that revokes credentials and the only one that protects a new credential from a concurrent
 * revocation. See `Accounts`.
 *
 * @param steps returns the revocation steps of accounts and extensions; complete only after all features are set up
 */
function createRevocation(
  users: ResourceGateway,
  steps: () => readonly RevocationStep[],
): Pick<Accounts, 'revoke' | 'holdCredential'> {
  const table = quoteIdentifier(users.table);
  const lock = `select from ${table} where "id" = any($1) order by "id" for no key update`;
  const lockActive = `select 1 from ${table} u where u."id" = $1 and ${activeUserSql(users, 'u')} for no key update`;

  return {
    async revoke(revocation, tx) {
      // `holdCredential` takes the same lock: a new credential is either stored already and revoked here, or its creation fails.
      await tx.database.write({ text: lock, values: [revocation.userIds] });
      for (const step of steps()) await step(revocation, tx);
    },
    async holdCredential({ user, auth }, tx) {
      const locked = await tx.write({ text: lockActive, values: [user?.id] });
      if (locked.length === 0) throw invalidSessionError();
      // While the lock is held, every earlier revocation is committed and visible to the next statement.
      const watch = credentialWatchOf(auth);
      if (watch !== undefined && (await watch.ended([auth!.id], tx)).length > 0) throw invalidSessionError();
    },
  };
}
