import type { Accounts } from '../declare/accounts.ts';
import type { Host } from '../declare/host.ts';
import type { Entity } from '../records/store/entity.ts';
import type { Lockout } from './lockout/lockout.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import type { Resets } from './reset/store.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { SignInSteps } from './sign-in/steps.ts';
import type { Users } from './users/users.ts';

/** The dependencies of the account operations. */
export interface AccountsContext {
  host: Host;
  hasher: PasswordHasher;
  sessions: Sessions;
  users: Users;
  /** The user resource. */
  user: Entity;
  lockout: Lockout;
  resets: Resets;
  /** The steps of extensions, such as a second factor, that a login runs after a correct credential. */
  signInSteps: SignInSteps;
  assertRecentSignIn: Accounts['assertRecentSignIn'];
  /** Records that a user owns their e-mail address. */
  verifyEmail: Accounts['verifyEmail'];
  /** Ends the sessions, devices and other credentials of users, in the caller's transaction. */
  revoke: Accounts['revoke'];
}
