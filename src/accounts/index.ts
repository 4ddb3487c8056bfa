import type { Accounts, RevocationStep, SignInMethod, SignInStep } from '../declare/accounts.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceGateway } from '../declare/host.ts';
import { quoteIdentifier } from '../platform/data/postgres/identifiers.ts';
import { ApiError, invalidSessionError } from '../platform/helpers/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { RecordsContext } from '../records/operations/context.ts';
import type { Entity } from '../records/store/entity.ts';
import { authenticatorOf, credentialWatchOf } from '../rules/credential.ts';
import { type Administration, createAdministration } from './administration.ts';
import { confirmCaller, confirmPassword } from './change-password.ts';
import type { AccountsContext } from './context.ts';
import { createDevicePanel } from './devices/account-panel.ts';
import { deviceRoutes, devices, removeAllDevices, type TokenRule } from './devices/index.ts';
import { createProofRevocation, emailProofs } from './email-proofs/store.ts';
import { createIdentityPanel } from './identities/account-panel.ts';
import { createIdentityLinks } from './identities/link.ts';
import { identityRoutes } from './identities/routes.ts';
import { createIdentities, userIdentities } from './identities/store.ts';
import { createLockoutSection } from './lockout/account-section.ts';
import { createLockout } from './lockout/lockout.ts';
import { createPasswordPanel } from './password-panel.ts';
import { createNoPassword, isPasswordHash, type PasswordHasher, storedHashSql } from './passwords/password-hash.ts';
import { createPowerRules, type PowerParts } from './power/index.ts';
import { createResetFeature, createResets, passwordResets } from './reset/index.ts';
import { accountRoutes } from './routes.ts';
import { createSessionPanel } from './sessions/account-panel.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { createSessions, type Sessions, sessions as sessionTable } from './sessions/sessions.ts';
import { checkSecretOfCaller, runSignInAttempt } from './sign-in/attempt.ts';
import { createProof, loginShape, resumeLogin, startSessionWithoutPassword } from './sign-in/finish-login.ts';
import { countSignIns } from './sign-in/metrics.ts';
import { combineSignInSteps } from './sign-in/steps.ts';
import { createUserRowParts } from './user-rows.ts';
import { activeUserSql } from './users/user-state.ts';
import { createUsers } from './users/users.ts';
import { createVerifyEmail, VERIFICATION_OF_ADDRESS } from './users/verified-email.ts';

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
  createFeatureParts(
    steps: Pick<FeatureParts, 'signInMethods' | 'revocationStep'> &
      PowerParts & {
        /** In the order of the extensions. */
        signInSteps: readonly SignInStep[];
      },
  ): FeatureParts;
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
  const identities = createIdentities(host.database);
  const ownSteps = [
    sessions.revoke,
    removeAllDevices,
    resets.revoke,
    identities.revoke,
    createProofRevocation(gateway),
  ];
  let revocationSteps: readonly RevocationStep[] = ownSteps;
  let signInMethods: readonly SignInMethod[] = [];
  let signInSteps = combineSignInSteps([]);
  const methods = () => signInMethods;
  const lockInOrder = createAccountLocks(gateway);
  const { revoke, holdCredential } = createRevocation(gateway, lockInOrder, () => revocationSteps);
  context.deletionSteps.set(user.resource.name, (userIds, { req }, tx) =>
    revoke({ cause: 'user_deleted', userIds, ip: req && addressOf(req) }, tx),
  );
  if (user.resource.field.has('emailVerifiedAt'))
    context.derivedChanges.set(user.resource.name, VERIFICATION_OF_ADDRESS);
  const users = createUsers(host, context, user, gateway);
  const { lockUser, findUserWithProof } = createUserReaders(host, gateway, user);
  const verifyEmail = createVerifyEmail({ host, users, revoke }, lockUser);
  const links = createIdentityLinks({ host, users, identities, accounts: { lockUser, verifyEmail }, methods });
  const assertRecentSignIn = createRecentSignInCheck(host.settings);
  const accounts: Omit<AccountsContext, 'signInSteps'> = {
    host,
    hasher,
    user,
    sessions,
    users,
    lockout: createLockout(host),
    resets,
    revoke,
    assertRecentSignIn,
    verifyEmail,
  };
  const { power, guard, confirmCode, confirmNewCredential, use } = createPowerRules({
    ...{ host, users: gateway, revoke, assertRecentSignIn, lockUser },
  });
  context.changeGuards.set(user.resource.name, guard);
  const confirmIdentity: Accounts['confirmIdentity'] = async (ctx, { password, code }, fields) => {
    await confirmCaller(accounts, ctx, password, fields.password);
    await confirmCode(ctx, code, fields.code);
  };
  return {
    startSession: sessions.startSession,
    administration: createAdministration(host, context, user, gateway, accounts),
    api: {
      startSession: (userId, signIn) => startSessionWithoutPassword({ ...accounts, signInSteps }, userId, signIn),
      loginOutput: () => loginShape(signInSteps),
      lockouts: accounts.lockout.administration,
      checkSecret(attempt, check, wrong) {
        if ('userId' in attempt) return checkSecretOfCaller(accounts, attempt.userId, check, wrong);
        const email = attempt.email.trim().toLowerCase();
        // The session that follows clears the failed attempts.
        return runSignInAttempt(accounts, { email, request: attempt.request }, check, {
          completes: () => false,
          wrong,
        });
      },
      lockInOrder,
      lockUser,
      findUserWithProof,
      async removePassword(userId, tx) {
        await users.overwritePasswordHash(userId, createNoPassword(), tx);
      },
      findUserByEmail: async (email) => (await users.findAccountByEmail(email.trim().toLowerCase()))?.user,
      createUser: (values, request, options) => users.createUser(values, request, options),
      verifyEmail,
      ...links,
      assertRecentSignIn,
      async renewRecentSignIn({ auth }) {
        if (auth?.via === 'session') await sessions.renewRecentSignIn(auth.id);
      },
      async chooseOrganisation({ auth }, organisation) {
        if (auth?.via === 'session') await sessions.chooseOrganisation(auth.id, organisation);
      },
      revoke,
      holdCredential,
      resumeLogin: (login, ctx) => resumeLogin({ ...accounts, signInSteps }, login, ctx),
      async confirmPassword(userId, password, field) {
        await confirmPassword(accounts, userId, password, field);
      },
      async confirmCaller(ctx, password, field) {
        await confirmCaller(accounts, ctx, password, field);
      },
      confirmSecondFactor: confirmCode,
      confirmIdentity,
      confirmNewCredential,
      power,
    },
    createFeatureParts(steps) {
      use(steps);
      signInSteps = combineSignInSteps(steps.signInSteps);
      signInMethods = steps.signInMethods ?? [];
      if (steps.revocationStep !== undefined) revocationSteps = [...ownSteps, steps.revocationStep];
      const whole = { ...accounts, signInSteps };
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
    },
  };
}

type ProofRow = [passwordHash: string, ...columns: unknown[]];

/** Creates the functions that read a user with the proof of their password, with a lock and without. See `Accounts`. */
function createUserReaders(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  { resource }: Entity,
): Pick<Accounts, 'lockUser' | 'findUserWithProof'> {
  const hash = storedHashSql(resource.field.get('password')!.column);
  const text = `select ${hash}, ${users.columns('u')} from ${quoteIdentifier(users.table)} u where u."id" = $1`;
  const lockText = `${text} for no key update`;
  const toUser = (row: ProofRow | undefined) => {
    if (row === undefined) return undefined;
    const [passwordHash, ...columns] = row;
    const hasPassword = isPasswordHash(passwordHash);
    return { user: users.fromRow(columns), hasPassword, proof: createProof(passwordHash) };
  };
  return {
    async lockUser(userId, tx) {
      const [row] = await tx.write<ProofRow>({ text: lockText, values: [userId] });
      return toUser(row);
    },
    async findUserWithProof(userId, tx) {
      const statement = { name: 'user_with_proof', text, values: [userId] };
      const [row] = await (tx === undefined ? database.read<ProofRow>(statement) : tx.write<ProofRow>(statement));
      return toUser(row);
    },
  };
}

/** Creates the check that the caller has signed in recently. See `Accounts`. */
function createRecentSignInCheck({ auth: { recentSignInMinutes } }: Host['settings']): Accounts['assertRecentSignIn'] {
  return async ({ auth }) => {
    const isRecent = await authenticatorOf(auth)?.isSignInRecent?.(auth!.id, recentSignInMinutes);
    if (isRecent !== true) throw new ApiError('RECENT_SIGN_IN_REQUIRED');
  };
}

const LOCK_ADDRESSES = `
  select pg_advisory_xact_lock(key) from (
    select distinct hashtextextended('account_address:' || email, 0) as key from unnest($1::text[]) email order by key offset 0
  ) addresses`;

/** Creates the function that locks addresses and users in the order of all transactions. See `Accounts`. */
function createAccountLocks(users: ResourceGateway): Accounts['lockInOrder'] {
  const lockUsers = `select from ${quoteIdentifier(users.table)} where "id" = any($1) order by "id" for no key update`;
  return async ({ emails = [], userIds = [] }, tx) => {
    if (emails.length > 0) await tx.write({ text: LOCK_ADDRESSES, values: [emails] });
    if (userIds.length > 0) await tx.write({ text: lockUsers, values: [userIds] });
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
  lockInOrder: Accounts['lockInOrder'],
  steps: () => readonly RevocationStep[],
): Pick<Accounts, 'revoke' | 'holdCredential'> {
  const lockActive = `select 1 from ${quoteIdentifier(users.table)} u where u."id" = $1 and ${activeUserSql(users, 'u')} for no key update`;

  return {
    async revoke(revocation, tx) {
      // `holdCredential` takes the same lock: a new credential is either stored already and revoked here, or its creation fails.
      await lockInOrder({ userIds: revocation.userIds }, tx.database);
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
