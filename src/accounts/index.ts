import type { FeatureParts } from '../declare/extension.ts';
import type { Host, ResourceView } from '../declare/host.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { deviceRoutes, devices } from './devices/index.ts';
import type { PasswordHasher } from './password-hash.ts';
import { accountRoutes } from './routes.ts';
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
  const ownSessions = createSessions(host, view);
  const users = createUsers(host, context, user, view);
  return {
    routes: [...accountRoutes({ host, hasher, sessions: ownSessions, users }, context, user), ...deviceRoutes(host)],
    authenticators: [ownSessions.authenticator],
  };
}
