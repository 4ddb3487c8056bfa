import type { Host, UserData } from '../../../declare/host.ts';
import { rowsInPages } from '../../../platform/postgres/scan.ts';
import { REMOVE_OF_USERS, ROWS_OF } from './sql.ts';

const NAMES = ['id', 'userId', 'requestedBy', 'status', 'records', 'bytes', 'createdAt', 'finishedAt', 'expiresAt'];

/** The exports of a user's data, and the exports of other users that the user requested. */
export function exportData({ database }: Pick<Host, 'database'>): UserData {
  return {
    name: 'exports',
    description: "Exports of the user's data, and those that the user asked for as an admin",
    tables: ['privacy_exports', 'privacy_export_chunks'],
    rows: (userId) => rowsInPages(database, ROWS_OF, NAMES, [userId]),
    erase: async (userId) =>
      (await database.write({ text: `${REMOVE_OF_USERS} returning 1`, values: [[userId]] })).length,
  };
}
