import type { Accounts, SignInMethod, SignInStep } from '../declare/accounts.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceGateway } from '../declare/host.ts';
import type { RevocationStep } from '../declare/revocation.ts';
import { findOrganisations } from '../records/access/reachable-organisations.ts';
import type { RecordsContext } from '../records/operations/context.ts';
import type { Entity } from '../records/store/entity.ts';
import { confirmCaller } from './change-password.ts';
import type { AccountsDependencies } from './context.ts';
import { createAccountLocks, createRecentSignInCheck, createRevocation, createUserReaders } from './credentials.ts';
import { removeAllDevices } from './devices/index.ts';
import { createProofRevocation } from './email-proofs/store.ts';
import { createIdentityLinks } from './identities/link.ts';
import { createIdentities, type Identities } from './identities/store.ts';
import { createLockout } from './lockout/lockout.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import { createPowerRules, type PowerExtensionParts, type PowerRules } from './power/index.ts';
import { createResets } from './reset/index.ts';
import { createSessions } from './sessions/sessions.ts';
import { combineSignInSteps } from './sign-in/steps.ts';
import { createUsers } from './users/users.ts';
import { createVerifyEmail } from './users/verified-email.ts';

/** The steps that extensions add to sign-in, revocation and confirmation. */
export interface AddedSteps extends Pick<FeatureParts, 'signInMethods' | 'revocationStep'>, PowerExtensionParts {
  /** In the order of the extensions. */
  signInSteps: readonly SignInStep[];
}

/** The services of accounts. */
export interface AccountServices
  extends Pick<Accounts, 'lockInOrder' | 'holdCredential' | 'lockUser' | 'findUserWithProof' | 'confirmIdentity'> {
  accounts: Omit<AccountsDependencies, 'signInSteps'>;
  identities: Identities;
  links: ReturnType<typeof createIdentityLinks>;
  power: PowerRules;
  /** The ways to sign in that extensions have added. */
  methods(): readonly SignInMethod[];
  /** Returns the context of operations that sign users in, with the steps that have been added by now. */
  signInContext(): AccountsDependencies;
  /** Adds the steps of extensions, after all features are set up. */
  use(steps: AddedSteps): void;
}

/** Creates the services of accounts. */
export function createAccountServices(
  host: Host,
  hasher: PasswordHasher,
  context: RecordsContext,
  user: Entity,
  gateway: ResourceGateway,
): AccountServices {
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
  const { revoke, holdCredential } = createRevocation(
    gateway,
    findOrganisations(host.resources),
    lockInOrder,
    () => revocationSteps,
  );
  const users = createUsers(host, context, user, gateway);
  const { lockUser, findUserWithProof } = createUserReaders(host, gateway, user);
  const verifyEmail = createVerifyEmail({ host, users, revoke }, lockUser);
  const links = createIdentityLinks({ host, users, identities, accounts: { lockUser, verifyEmail }, methods });
  const assertRecentSignIn = createRecentSignInCheck(host.settings);
  const lockout = createLockout(host);
  const accounts = { host, hasher, user, sessions, users, lockout, resets, revoke, assertRecentSignIn, verifyEmail };
  const power = createPowerRules({ host, users: gateway, revoke, assertRecentSignIn, lockUser });
  const confirmIdentity: Accounts['confirmIdentity'] = async (ctx, { password, code }, fields) => {
    await confirmCaller(accounts, ctx, password, fields.password);
    await power.confirmCode(ctx, code, fields.code);
  };
  return {
    accounts,
    identities,
    methods,
    links,
    power,
    lockInOrder,
    holdCredential,
    lockUser,
    findUserWithProof,
    confirmIdentity,
    signInContext: () => ({ ...accounts, signInSteps }),
    use(steps) {
      power.use(steps);
      signInSteps = combineSignInSteps(steps.signInSteps);
      signInMethods = steps.signInMethods ?? [];
      if (steps.revocationStep !== undefined) revocationSteps = [...ownSteps, steps.revocationStep];
    },
  };
}
