import { deletedUsersConsumer } from '../../../accounts/users/deleted-users.ts';
import type { Accounts, RevocationStep } from '../../../declare/accounts.ts';
import type { ExtensionHost, FeatureParts } from '../../../declare/extension.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import { checkNames, exportFiles } from './files.ts';
import { createLinks } from './links.ts';
import { createExportComposer, EXPORT_MAIL } from './mail.ts';
import { createMakeExport } from './make-export.ts';
import { exportRoutes } from './routes.ts';
import type { ExportSettings } from './settings.ts';
import { REMOVE_ASKED_BY, REMOVE_OF_USERS } from './sql.ts';
import { createExports, secretContext } from './store.ts';
import { exportSweeps } from './sweeps.ts';
import { exportData } from './user-data.ts';

export { type ExportOptions, exportSettings } from './settings.ts';
export { privacyExportChunks, privacyExports } from './tables.ts';

const JOB = 'export';

/** Removes the exports that a user requested, with their links; for a deleted user, also exports of the user that an admin requested. */
const revocationStep: RevocationStep = async ({ cause, userIds }, tx) => {
  if (cause === 'key_revoked') return;
  await tx.database.write({ text: cause === 'user_deleted' ? REMOVE_OF_USERS : REMOVE_ASKED_BY, values: [userIds] });
};

/** Exports of users' data: routes, the job that creates exports, and the sweeps that remove them. */
export function exportParts(
  host: ExtensionHost,
  { holdCredential }: Accounts,
  users: ResourceGateway,
  { exportHours, exportsPerDay }: ExportSettings,
): FeatureParts {
  const exports = createExports(host);
  const links = createLinks(host);
  const begin = (...ids: string[]) => host.jobs.add(JOB, ids);
  const parts = { exports, users, links, holdCredential, perDay: exportsPerDay, begin };
  // The user data of features is known only after all of them are set up.
  let make: ReturnType<typeof createMakeExport> | undefined;
  const run = (id: string) => {
    make ??= createMakeExport(host, {
      exports,
      users,
      files: exportFiles(host, users, host.userData()),
      hours: exportHours,
    });
    return make(id);
  };
  return {
    routes: exportRoutes(host, parts),
    jobs: { [JOB]: { run, concurrency: 2 } },
    sweeps: exportSweeps(host, users, parts),
    consumers: [deletedUsersConsumer(users, REMOVE_OF_USERS)],
    mails: { [EXPORT_MAIL]: createExportComposer(exports, users, links) },
    userData: [exportData(host)],
    checkConfig: (errors) => checkNames(host.userData(), errors),
    revocationStep,
    encrypted: [{ name: 'privacy_exports.secret', table: 'privacy_exports', column: 'secret', context: secretContext }],
  };
}
