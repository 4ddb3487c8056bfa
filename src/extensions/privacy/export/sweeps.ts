import type { Fields } from '../../../declare/field.ts';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { quoteIdentifier } from '../../../platform/postgres/quote-identifier.ts';
import { removeInBatches } from '../../../platform/postgres/write-in-batches.ts';
import { REMOVE_EXPIRED, removeDead } from './sql.ts';
import type { Exports } from './store.ts';

/** Hands out again what was left in the middle, and removes what is over or nobody's any more. */
export function exportSweeps(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  { exports, begin }: { exports: Exports; begin(...ids: string[]): Promise<void> },
): Sweep[] {
  const { status, roles } = users.declaration.fields as Fields;
  const has = { status: status !== undefined, roles: roles !== undefined };
  const dead = removeDead(quoteIdentifier(users.table), has);
  return [
    {
      name: 'exports that wait',
      everyMs: 5000,
      async run() {
        const ids = await exports.overdue();
        await begin(...ids);
        return ids.length;
      },
    },
    {
      name: 'exports that are over',
      everyMs: 60_000,
      run: async () => (await removeInBatches(database, REMOVE_EXPIRED)) + (await removeInBatches(database, dead)),
    },
  ];
}
