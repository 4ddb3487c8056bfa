import type { Request } from 'express';
import type { Accounts, IdentitySignIn, SignInMethod } from '../../declare/accounts.ts';
import { isAccountActive } from '../../declare/actor.ts';
import type { Host } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { emitLoginFailed } from '../sign-in/attempt.ts';
import { registrationClosedError, type Users } from '../users/users.ts';
import type { Identities } from './store.ts';

interface IdentityLinkDependencies {
  host: Host;
  users: Users;
  identities: Identities;
  accounts: Pick<Accounts, 'lockUser' | 'verifyEmail'>;
  /** Returns the sign-in methods of extensions; complete only after all features are set up. */
  methods: () => readonly SignInMethod[];
}

const MAX_SUBJECT = 255;
/** Attempts to sign in with an identity while other requests create the same user or link the same identity. */
const MAX_ATTEMPTS = 5;

/** Thrown inside a transaction, to roll it back, when another request has linked the identity first. */
class LinkedElsewhereError extends Error {}

function signInFirstError(): ApiError {
  return new ApiError(
    'CONFLICT',
    'There is already an account with this e-mail address; sign in to it, and then link this way to sign in',
  );
}

/**
 * Returns an address in the form in which users have it; undefined for an address that is not plain ASCII. Lower-casing could turn such an
 * address into that of another person: the Kelvin sign becomes `k`.
 */
function normalizeAddress(address: string): string | undefined {
  const trimmed = address.trim();
  return /^[\x21-\x7e]+$/.test(trimmed) ? trimmed.toLowerCase() : undefined;
}

/** Creates the functions that link identities to users. See `Accounts`. */
export function createIdentityLinks({
  host,
  users,
  identities,
  accounts,
  methods,
}: IdentityLinkDependencies): Pick<Accounts, 'findOrCreateByIdentity' | 'linkIdentity' | 'assertCanStillSignIn'> {
  const linkIdentity: Accounts['linkIdentity'] = async (userId, identity, tx, request) => {
    if (identity.subject === '' || identity.subject.length > MAX_SUBJECT)
      throw new TypeError(`the subject of an identity must have 1 to ${MAX_SUBJECT} characters`);
    const linked = await identities.link(userId, identity, tx.database);
    if (linked.userId !== userId)
      throw new ApiError('CONFLICT', 'This account at the provider is already linked to another user');
    if (!linked.isNew) return;
    const payload = { userId, provider: identity.provider, ip: addressOf(request) };
    tx.afterCommit(() => host.events.emit('security.identity_linked', payload));
  };

  /** Links the identity to the account with its address, whose owner the provider knows. */
  async function linkToExistingUser(userId: string, identity: IdentitySignIn, request: Request): Promise<void> {
    if (!identity.emailVerified) {
      // While registration is closed, an unknown address gets this error, too. Otherwise the response would reveal which addresses have accounts.
      throw host.settings.auth.register ? signInFirstError() : registrationClosedError();
    }
    await host.transaction(async (tx) => {
      const locked = await accounts.lockUser(userId, tx.database);
      // Neither claim nor link a disabled account: the person who signs in would get no session.
      if (locked !== undefined && !isAccountActive(locked.user)) {
        emitLoginFailed({ host }, { email: identity.email!, request }, 'user_disabled');
        throw new ApiError('FORBIDDEN', 'This account is disabled');
      }
      const owns = await accounts.verifyEmail(userId, identity.email!, tx, { claim: true, request });
      // The address has been changed since it was looked up.
      if (!owns) throw signInFirstError();
      await linkIdentity(userId, identity, tx, request);
    });
  }

  async function createUserWithIdentity(identity: IdentitySignIn, request: Request): Promise<string> {
    const { email, emailVerified, profile } = identity;
    const verified = emailVerified ? { emailVerifiedAt: new Date().toISOString() } : {};
    return host.transaction(async (tx) => {
      const user = await users.createUser({ ...profile, email, ...verified }, request, { tx });
      const linked = await identities.link(user.id, identity, tx.database);
      if (linked.userId !== user.id) throw new LinkedElsewhereError();
      return user.id;
    });
  }

  return {
    linkIdentity,
    async findOrCreateByIdentity(given, request) {
      const email = given.email === undefined ? undefined : normalizeAddress(given.email);
      const identity = { ...given, email };
      for (let attempt = 1; ; attempt++) {
        const known = await identities.findUserAndRecordUsage(identity);
        if (known !== undefined) return { userId: known, created: false };
        const existing = email === undefined ? undefined : await users.findAccountByEmail(email);
        try {
          if (existing !== undefined) {
            await linkToExistingUser(existing.user.id, identity, request);
            return { userId: existing.user.id, created: false };
          }
          return { userId: await createUserWithIdentity(identity, request), created: true };
        } catch (error) {
          // A second tab may have created the user or linked the identity meanwhile: then use that user.
          const isTaken = error instanceof ApiError && error.code === 'CONFLICT' && existing === undefined;
          if (attempt === MAX_ATTEMPTS || !(isTaken || error instanceof LinkedElsewhereError)) throw error;
        }
      }
    },
    async assertCanStillSignIn(userId, tx) {
      const locked = await accounts.lockUser(userId, tx);
      if (locked === undefined || locked.hasPassword || (await identities.hasAny(userId, tx))) return;
      for (const method of methods()) if (await method.isUsableBy(locked.user, tx)) return;
      throw new ApiError('CONFLICT', 'This is your only way to sign in; add another one first');
    },
  };
}
