import type { Host, ResourceView } from '../../declare/host.ts';
import { allows } from '../../declare/policy.ts';
import { isTransient } from './owner-deliveries.ts';
import type { WebhookSettings } from './settings.ts';
import { OWNER_OF_GLOBAL, OWNER_OF_GLOBAL_OF } from './sql/endpoints.ts';

/**
 * Whether the owner of an endpoint, or of a delivery's endpoint, may still have it: always, where it is no global one. Rejects when the
 * database is away.
 */
export type GlobalGate = (of: 'endpoint' | 'delivery', id: string) => Promise<boolean>;

/** Makes it. Undefined where the policy has no functions: then the statement that claims decides by roles. */
export function createGlobalGate(
  { database, service, log }: Pick<Host, 'database' | 'service' | 'log'>,
  users: Pick<ResourceView, 'load'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): GlobalGate | undefined {
  if (globalPolicy.functions.length === 0) return undefined;
  return async (of, id) => {
    const statement =
      of === 'endpoint'
        ? { name: 'webhook_owner_of_global', text: OWNER_OF_GLOBAL }
        : { name: 'webhook_owner_of_global_of', text: OWNER_OF_GLOBAL_OF };
    const [row] = await database.read<[ownerId: string]>({ ...statement, values: [id] });
    if (row === undefined) return true;
    const [user] = await users.load(row);
    if (user === undefined) return false;
    try {
      return await allows(globalPolicy, { user, action: 'webhook', doc: undefined, req: undefined, service }, false);
    } catch (error) {
      if (isTransient(error)) throw error;
      log.error({ err: error, [of]: id, user: user.id }, 'a policy threw; nothing is sent');
      return false;
    }
  };
}
