import type { Accounts, ConfirmStep, PasswordResetStep, SignInStep } from '../declare/accounts.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceView } from '../declare/host.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { type Administration, createAdministration } from './administration.ts';
import { confirmPassword } from './confirm-password.ts';
import type { AccountsContext } from './context.ts';
import { deviceRoutes, devices, devicesOfDeletedUsers, type TokenRule } from './devices/index.ts';
import { resumeLogin } from './finish-login.ts';
import { createLockout } from './lockout.ts';
import type { PasswordHasher } from './password-hash.ts';
import { createResets, passwordResets, resetFeature } from './reset/index.ts';
import { accountRoutes } from './routes.ts';
import { sessionSweep, sessionsOfDeletedUsers } from './session-removal.ts';
import { sessionRoutes } from './session-routes.ts';
import { createSessions } from './sessions.ts';
import { sessions } from './tables.ts';
import { accountData } from './user-data.ts';
import { createUsers } from './users.ts';

/** The tables of accounts, by name. */
export const accountTables = { sessions, devices, password_resets: passwordResets };

/** What extensions add to what accounts ask of users. */
interface Steps {
  signIn: readonly SignInStep[];
  reset: readonly PasswordResetStep[];
  confirm: readonly ConfirmStep[];
}

/** The accounts of an app. */
interface AppAccounts {
  /** What extensions are offered. */
  api: Accounts;
  /** What the command line is offered. */
  administration: Administration;
  /** The feature, whose logins, resets of passwords and confirmations go through these steps. */
  feature(steps: Steps): FeatureParts;
}

/**
 * The accounts of an app whose user resource is `user`.
 *
 * @param deviceTokens which tokens devices may be registered with
 */
export function createAccounts(
  host: Host,
  hasher: PasswordHasher,
  context: RecordsContext,
  user: Entity,
  view: ResourceView,
  deviceTokens: TokenRule,
): AppAccounts {
  const accounts: Omit<AccountsContext, 'steps' | 'resetSteps'> = {
    host,
    hasher,
    user,
    sessions: createSessions(host, user, view),
    users: createUsers(host, context, user, view),
    lockout: createLockout(host),
    resets: createResets(host.database, view, host.settings.auth.resetTokenTtlMinutes),
  };
  let confirmSteps: readonly ConfirmStep[] = [];
  return {
    administration: createAdministration(host, context, user, view, accounts),
    api: {
      resumeLogin: (login, ctx) => resumeLogin(accounts, login, ctx),
      async confirmPassword(userId, password, field) {
        await confirmPassword(accounts, userId, password, field);
      },
      async confirmIdentity(ctx, { password, code }, fields) {
        await confirmPassword(accounts, ctx.user!.id, password, fields.password);
        for (const step of confirmSteps) await step(ctx, code, fields.code);
      },
    },
    feature({ signIn, reset: resetSteps, confirm }) {
      confirmSteps = confirm;
      const whole = { ...accounts, steps: signIn, resetSteps };
      const reset = resetFeature(whole, view);
      return {
        routes: [
          ...accountRoutes(whole, context),
          ...reset.routes,
          ...sessionRoutes(accounts),
          ...deviceRoutes(host, deviceTokens),
        ],
        authenticators: [accounts.sessions.authenticator],
        mails: reset.mails,
        consumers: [sessionsOfDeletedUsers(view), devicesOfDeletedUsers(view), ...reset.consumers],
        sweeps: [sessionSweep(host.database), ...reset.sweeps],
        userData: accountData(host.database, view),
      };
    },
  };
}
