import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { allows, type Viewer } from '../../../declare/policy.ts';
import { createRuleErrorLog, hideOnError } from '../../../records/access/rule-errors.ts';
import type { WebhookSettings } from '../settings.ts';
import { OWNER_OF_GLOBAL, OWNER_OF_GLOBAL_OF } from '../endpoints/endpoints-sql.ts';

/**
 * Creates the check whether a user may have global endpoints. A function of the policy that throws allows nothing, and is logged. It
 * rejects only when the database is away.
 */
export function createGlobalCheck(
  { service, log }: Pick<Host, 'service' | 'log'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): (user: Viewer) => Promise<boolean> {
  const onError = hideOnError(
    createRuleErrorLog(log),
    { resource: undefined, rule: 'webhooks({ globalPolicy })' },
    undefined,
  );
  return (user) =>
    allows(globalPolicy, { user, action: 'webhook', doc: undefined, req: undefined, service }, false, onError);
}

/**
 * Whether the owner of an endpoint, or of a delivery's endpoint, may still have it. An endpoint that is not global always passes. Rejects
 * when the database is away.
 */
export type GlobalGate = (of: 'endpoint' | 'delivery', id: string) => Promise<boolean>;

/** Creates the gate. Undefined if the policy has no functions: then the claiming statement checks the roles. */
export function createGlobalGate(
  { database, service, log }: Pick<Host, 'database' | 'service' | 'log'>,
  users: Pick<ResourceGateway, 'load'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): GlobalGate | undefined {
  if (globalPolicy.functions.length === 0) return undefined;
  const isAllowed = createGlobalCheck({ service, log }, { globalPolicy });
  return async (of, id) => {
    const statement =
      of === 'endpoint'
        ? { name: 'webhook_owner_of_global', text: OWNER_OF_GLOBAL }
        : { name: 'webhook_owner_of_global_of', text: OWNER_OF_GLOBAL_OF };
    const [row] = await database.read<[ownerId: string]>({ ...statement, values: [id] });
    if (row === undefined) return true;
    const [user] = await users.load(row);
    return user !== undefined && isAllowed(user);
  };
}
