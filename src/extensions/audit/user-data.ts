import {
  createUnreachableOrganisationSearch,
  type Host,
  type UserData,
  writeInBatches,
} from '../../extension/index.ts';
import { createVisibleChangesFilter } from './reading/visible-entries.ts';
import { ENTRIES_WITH_VALUES, restoreSealedValues } from './trail/entry.ts';
import type { Changes } from './trail/responses.ts';
import { ERASE_VALUES } from './trail/sql.ts';

const ROWS_AT_ONCE = 500;

// Uses the index audit_entries_user_id_index. $1 user, $2 and $3 time and id of the last row of the previous page.
const ROWS = `
  select id, at, action, resource, record_id, via, credential_id, ip, request_id, changes, details, values_by_field
  from ${ENTRIES_WITH_VALUES}
  where user_id = $1 and (at, id) > ($2::timestamptz, $3) order by at, id limit ${ROWS_AT_ONCE}`;

type Row = [
  id: number,
  at: string,
  action: string,
  resource: string | null,
  record: string | null,
  via: string | null,
  credential: string | null,
  ip: string | null,
  requestId: string | null,
  changes: Changes | null,
  details: unknown,
  values: Changes | null,
];

/** The organisation that an entry is about; undefined if it is about none. */
function organisationOfRow(row: Row): unknown {
  const [resource, record, details] = [row[3], row[4], row[10]];
  if (resource === 'organisation') return record;
  return typeof details === 'object' && details !== null
    ? (details as Record<string, unknown>).organisation
    : undefined;
}

/** Describes the audit entries of a user's actions, for exports and erasures. */
export function auditUserData(
  { database, resources, users }: Pick<Host, 'database' | 'resources' | 'users'>,
  keepDays: number,
): UserData {
  const filterVisibleChanges = createVisibleChangesFilter(resources);
  return {
    name: 'auditEntries',
    description: 'Actions of the user in the audit trail; personal values are masked',
    tables: ['audit_entries', 'audit_values'],
    kept: `The audit trail is append-only: ids, addresses and field names stay for ${keepDays} days; the user's record values are removed`,
    async *rows(userId) {
      const [user] = (await users?.load([userId])) ?? [];
      const findUnreachable = createUnreachableOrganisationSearch(resources, user ?? { id: userId });
      for (let after: [string, number] = ['-infinity', 0]; ; ) {
        const rows = await database.readSlowly<Row>({ text: ROWS, values: [userId, ...after] });
        const unreachable = await findUnreachable(rows.map(organisationOfRow));
        for (const row of rows) {
          const [id, at, action, resource, record, via, credential, ip, requestId, sealedChanges, details, values] =
            row;
          // A user may change a field that only admins may read, so apply the field visibility here too.
          const changes = filterVisibleChanges(
            { resource, changes: restoreSealedValues(sealedChanges, values) },
            { id: userId },
          );
          if (unreachable.has(organisationOfRow(row))) {
            // The action remains the user's own; the record is one of an organisation that they have left.
            yield {
              id,
              at,
              action,
              resource,
              record: null,
              via,
              credential,
              ip,
              requestId,
              changes: null,
              details: null,
            };
            continue;
          }
          yield { id, at, action, resource, record, via, credential, ip, requestId, changes, details };
        }
        if (rows.length < ROWS_AT_ONCE) return;
        const [id, at] = rows.at(-1)!;
        after = [at, id];
      }
    },
    erase: (userId) => writeInBatches(database, ERASE_VALUES, [userId]),
  };
}
