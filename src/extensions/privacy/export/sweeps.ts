import type { Fields } from '../../../declare/field.ts';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { reclaimSweep, retentionSweep } from '../../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { quoteIdentifier } from '../../../platform/postgres/identifiers.ts';
import { REMOVE_EXPIRED, removeDead } from './sql.ts';
import type { Exports } from './store.ts';

/** Creates the sweeps that enqueue waiting exports without a job, and remove exports that have expired or may no longer be downloaded. */
export function exportSweeps(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  { exports, begin }: { exports: Exports; begin(...ids: string[]): Promise<void> },
): Sweep[] {
  const { status, roles } = users.declaration.fields as Fields;
  const has = { status: status !== undefined, roles: roles !== undefined };
  const dead = removeDead(quoteIdentifier(users.table), has);
  return [
    reclaimSweep({
      name: 'exports that wait',
      everyMs: 5000,
      find: exports.overdue,
      addJobs: (ids) => begin(...ids),
    }),
    retentionSweep(database, {
      name: 'exports that are over',
      removals: [{ text: REMOVE_EXPIRED }, { text: dead }],
    }),
  ];
}
