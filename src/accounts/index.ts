import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceView } from '../declare/host.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { deviceRoutes, devices } from './devices/index.ts';
import { createLockout } from './lockout.ts';
import type { AccountParts } from './parts.ts';
import type { PasswordHasher } from './password-hash.ts';
import { accountRoutes } from './routes.ts';
import { sessionSweep, sessionsOfDeletedUsers } from './session-removal.ts';
import { sessionRoutes } from './session-routes.ts';
import { createSessions } from './sessions.ts';
import { sessions } from './tables.ts';
import { createUsers } from './users.ts';

/** The tables of accounts, by name. */
export const accountTables = { sessions, devices };

/** The account feature of an app whose user resource is `user`. */
export function createAccounts(
  host: Host,
  hasher: PasswordHasher,
  context: RecordsContext,
  user: Entity,
  view: ResourceView,
): FeatureParts {
  const parts: AccountParts = {
    host,
    hasher,
    user,
    sessions: createSessions(host, user, view),
    users: createUsers(host, context, user, view),
    lockout: createLockout(host),
  };
  return {
    routes: [...accountRoutes(parts, context), ...sessionRoutes(parts), ...deviceRoutes(host)],
    authenticators: [parts.sessions.authenticator],
    consumers: [sessionsOfDeletedUsers],
    sweeps: [sessionSweep(host.database)],
  };
}
