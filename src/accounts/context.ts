import type { Accounts, SignInStep } from '../declare/accounts.ts';
import type { Host } from '../declare/host.ts';
import type { Entity } from '../records/context.ts';
import type { Lockout } from './lockout.ts';
import type { PasswordHasher } from './password-hash.ts';
import type { Resets } from './reset/store.ts';
import type { Sessions } from './sessions.ts';
import type { Users } from './users.ts';

/** What the account operations work with. */
export interface AccountsContext {
  host: Host;
  hasher: PasswordHasher;
  sessions: Sessions;
  users: Users;
  /** The user resource. */
  user: Entity;
  lockout: Lockout;
  resets: Resets;
  /** What extensions ask after the password of a login. */
  signInStep: SignInStep | undefined;
  /** Ends credentials in the caller's transaction. */
  revoke: Accounts['revoke'];
}
