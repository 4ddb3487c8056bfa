import type { Host, ResourceView } from '../../declare/host.ts';
import { allows } from '../../declare/policy.ts';
import { isTransient } from './owner-deliveries.ts';
import type { WebhookSettings } from './settings.ts';
import { OWNER_OF_GLOBAL } from './sql/endpoints.ts';

/** Whether the owner of an endpoint may still have it: always, where it is no global one. Rejects when the database is away. */
export type GlobalGate = (endpointId: string) => Promise<boolean>;

/** Makes it. Undefined where the policy has no functions: then the statement that claims decides by roles. */
export function createGlobalGate(
  { database, service, log }: Pick<Host, 'database' | 'service' | 'log'>,
  users: Pick<ResourceView, 'load'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): GlobalGate | undefined {
  if (globalPolicy.functions.length === 0) return undefined;
  return async (endpointId) => {
    const statement = { name: 'webhook_owner_of_global', text: OWNER_OF_GLOBAL, values: [endpointId] };
    const [row] = await database.read<[ownerId: string]>(statement);
    if (row === undefined) return true;
    const [user] = await users.load(row);
    if (user === undefined) return false;
    try {
      return await allows(globalPolicy, { user, action: 'webhook', doc: undefined, req: undefined, service }, false);
    } catch (error) {
      if (isTransient(error)) throw error;
      log.error({ err: error, endpoint: endpointId, user: user.id }, 'a policy threw; nothing is sent');
      return false;
    }
  };
}
