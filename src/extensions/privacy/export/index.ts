import { z } from 'zod';
import {
  type Accounts,
  createDeletedUsersConsumer,
  createReclaimSweep,
  createRetentionSweep,
  defineOwnedTable,
  type ExtensionHost,
  type FeatureParts,
  type Fields,
  findsRowSql,
  type Host,
  lifetimeSetting,
  quoteIdentifier,
  type ResourceGateway,
  type RevocationStep,
  type Sweep,
  wholeNumberSettingSchema,
} from '../../../extension/index.ts';
import { createExportLinks, createExportMailComposer, EXPORT_MAIL } from './links.ts';
import { checkUserDataNames, listExportFiles } from './list-files.ts';
import { createExportJob } from './make-export.ts';
import { exportRoutes } from './routes.ts';
import { removeInvalidSql, SELECT_OVERDUE_EXPORTS } from './sql.ts';
import { createExportStore, type ExportStore, secretContext } from './store.ts';
import { privacyExports } from './tables.ts';

/** The settings for exports of the privacy extension. */
export const exportSettings = z.strictObject({
  /** Hours for which an export is kept and its link works. */
  exportTtl: lifetimeSetting('30d', '1h').prefault('3d'),
  /** Maximum number of exports of one user that one requester may start in 24 hours. */
  exportsPerDay: wholeNumberSettingSchema(1000).default(5),
});

/** The settings of exports as a project writes them. All are optional. */
export type ExportOptions = z.input<typeof exportSettings> & {
  /** @deprecated Use `exportTtl`. */
  exportHours?: number;
};

/** The settings with all defaults filled. */
type ExportSettings = z.output<typeof exportSettings>;

export { privacyExportChunks, privacyExports } from './tables.ts';

const EXPORT_JOB = 'export';

// These use privacy_exports_user_unique and privacy_exports_requested_by_index. Rows have two owners, so two removals may meet.
const ownedExports = defineOwnedTable(privacyExports, { owners: ['userId', 'requestedBy'], locksInOrder: true });
const requestedExports = defineOwnedTable(privacyExports, { owners: ['requestedBy'], locksInOrder: true });

/** Removes the exports that a user requested, with their links; for a deleted user, also exports of the user that an admin requested. */
const removeRevokedExports: RevocationStep = async ({ cause, userIds }, { database: on }) => {
  if (cause !== 'key_revoked') await (cause === 'user_deleted' ? ownedExports : requestedExports).remove(on, userIds);
};

/** Returns the parts for exports of users' data: routes, the job that creates exports, and the sweeps that remove them. */
export function createExportParts(
  host: ExtensionHost,
  { holdCredential }: Accounts,
  users: ResourceGateway,
  { exportTtl, exportsPerDay }: ExportSettings,
): FeatureParts {
  const exports = createExportStore(host);
  const links = createExportLinks(host);
  const enqueue = (...ids: string[]) => host.jobs.add(EXPORT_JOB, ids);
  const parts = { exports, users, links, holdCredential, perDay: exportsPerDay, enqueue };
  // Created by the first run, because the user data of all features is known only after every extension is set up.
  let exportJob: ReturnType<typeof createExportJob> | undefined;
  const run = (id: string) => {
    exportJob ??= createExportJob(host, {
      exports,
      users,
      files: listExportFiles(host, users, host.userData()),
      hours: exportTtl / 3_600_000,
    });
    return exportJob(id);
  };
  return {
    routes: exportRoutes(host, parts),
    jobs: { [EXPORT_JOB]: { run, concurrency: 2 } },
    sweeps: createExportSweeps(host, users, parts),
    consumers: [createDeletedUsersConsumer(users, ownedExports)],
    mails: { [EXPORT_MAIL]: createExportMailComposer(host, exports, users, links) },
    userData: [
      {
        ...ownedExports.describe(host.database, {
          name: 'exports',
          description: "Exports of the user's data, and exports that the user requested as an admin",
          exported: [
            'id',
            'userId',
            'requestedBy',
            'status',
            'records',
            'bytes',
            'createdAt',
            'finishedAt',
            'expiresAt',
          ],
        }),
        // Chunks are deleted with their exports.
        tables: ['privacy_exports', 'privacy_export_chunks'],
      },
    ],
    checkConfig: (errors) => checkUserDataNames(host.userData(), errors),
    revocationStep: removeRevokedExports,
    encrypted: [{ name: 'privacy_exports.secret', table: 'privacy_exports', column: 'secret', context: secretContext }],
  };
}

/** Creates the sweeps that enqueue waiting exports without a job, and remove exports that have expired or may no longer be downloaded. */
export function createExportSweeps(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  { exports, enqueue }: { exports: ExportStore; enqueue(...ids: string[]): Promise<void> },
): Sweep[] {
  const { status, roles } = users.declaration.fields as Fields;
  const has = { status: status !== undefined, roles: roles !== undefined };
  const removeInvalid = removeInvalidSql(quoteIdentifier(users.table), has);
  return [
    createReclaimSweep({
      name: 'exports that wait',
      everyMs: 5000,
      condition: findsRowSql(SELECT_OVERDUE_EXPORTS),
      find: exports.findOverdue,
      addJobs: (ids) => enqueue(...ids),
    }),
    createRetentionSweep(database, {
      name: 'exports that are over',
      removals: [{ table: privacyExports }, { text: removeInvalid }],
    }),
  ];
}
