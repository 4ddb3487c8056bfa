import type { Accounts } from '../declare/accounts.ts';
import type { Entity } from '../records/store/entity.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import type { Resets } from './reset/store.ts';
import type { LoginDependencies } from './sign-in/finish-login.ts';

/** The dependencies of the account operations. See `Accounts`. */
export interface AccountsDependencies
  extends LoginDependencies,
    Pick<Accounts, 'assertRecentSignIn' | 'verifyEmail' | 'revoke'> {
  hasher: PasswordHasher;
  /** The user resource. */
  user: Entity;
  resets: Resets;
}
