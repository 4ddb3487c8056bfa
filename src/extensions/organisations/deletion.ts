import type { Job } from '../../declare/extension.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { AnyService } from '../../declare/service.ts';
import { ApiError } from '../../platform/errors.ts';
import { createReclaimSweep } from '../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { createOrganisationLock, findRole, type OrganisationContext } from './context.ts';
import { MEMBERSHIP, ORGANISATION } from './resources.ts';
import type { TenantFields } from './tenant.ts';

/** The name of the job that deletes the records of an organisation. */
export const DELETION_JOB = 'delete-organisation';

const RECORDS_PER_BATCH = 100;
/** How often the sweep looks for deletions whose job was lost, in ms. */
const SWEEP_EVERY_MS = 60_000;
const MAX_DUE = 1000;

const INSERT = 'insert into organisation_deletions (id, deleted_by) values ($1, $2) on conflict do nothing';
// A younger deletion still has its job.
const FIND_DUE = `
  select id from organisation_deletions where created_at < now() - interval '1 minute' order by id limit ${MAX_DUE}`;
const FIND = 'select 1 from organisation_deletions where id = $1';
// A request that began before the deletion may still have created a record, so the sweep runs the job once more.
const FINISH = `delete from organisation_deletions where id = $1 and created_at < now() - interval '1 minute'`;
const REMOVE_INVITATIONS = `
  delete from organisation_invitations where id in (
    select id from organisation_invitations where organisation = $1 limit $2
  ) returning 1`;

/**
 * Creates the function that deletes an organisation. From then on its members reach none of its records; a job deletes the records.
 *
 * @param by undefined: the system
 * @throws ApiError NOT_FOUND or FORBIDDEN
 */
export function createDeleteOrganisation(context: OrganisationContext) {
  const { host, roles } = context;
  const lock = createOrganisationLock(context);
  return (organisation: string, by: Viewer | undefined): Promise<void> =>
    host.transaction(async (tx) => {
      await lock(organisation, tx.database);
      if (by !== undefined) {
        const role = await findRole(context, by, organisation, tx.service);
        if (role === undefined) throw new ApiError('NOT_FOUND');
        if (role !== roles.owner) throw new ApiError('FORBIDDEN', 'Only an owner can delete an organisation');
      }
      await tx.database.write({ text: INSERT, values: [organisation, by?.id] });
      await tx.service(ORGANISATION).delete(organisation, { as: 'system' });
      tx.afterCommit(() => host.jobs.add(DELETION_JOB, [organisation]));
    });
}

/** Deletes the records of an organisation page by page, with an event for each. Records that are being changed are deleted with the next page. */
async function deleteRecords(service: AnyService, field: string, organisation: string): Promise<void> {
  for (;;) {
    const { data } = await service.list(
      { [field]: organisation, limit: RECORDS_PER_BATCH, count: 'none' },
      { as: 'system' },
    );
    for (const { id } of data) {
      await service.delete(id, { as: 'system' }).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error;
      });
    }
    if (data.length < RECORDS_PER_BATCH) return;
  }
}

function removeArchivedSql({ archiveTable }: ResourceGateway, column: string): string {
  const table = quoteIdentifier(archiveTable!);
  return `delete from ${table} where id in (select id from ${table} where ${quoteIdentifier(column)} = $1 limit $2) returning 1`;
}

/**
 * Creates the job that deletes the records of a deleted organisation. It can be killed at any point and run again: records that are gone are
 * not found again, and the row of the deletion is removed by the last run.
 *
 * @param columnOf returns the column of a tenant field
 */
export function createDeletionJob(
  { host }: Pick<OrganisationContext, 'host'>,
  tenantFields: TenantFields,
  columnOf: (field: string) => string,
): Job {
  const { database, service, resources } = host;
  const all = [...tenantFields, [MEMBERSHIP, 'organisation'] as const];
  return {
    concurrency: 2,
    async run(organisation) {
      if ((await database.write({ text: FIND, values: [organisation] })).length === 0) return;
      for (const [name, field] of all) {
        await deleteRecords(service(name), field, organisation);
        const gateway = resources.find((one) => one.name === name)!;
        if (gateway.archiveTable !== undefined)
          await writeInBatches(database, removeArchivedSql(gateway, columnOf(field)), [organisation]);
      }
      await writeInBatches(database, REMOVE_INVITATIONS, [organisation]);
      await database.write({ text: FINISH, values: [organisation] });
    },
  };
}

/** Creates the sweep that adds jobs for deletions whose job was lost. */
export function createDeletionSweep({ host: { database, jobs } }: Pick<OrganisationContext, 'host'>): Sweep {
  return createReclaimSweep({
    name: 'deletions of organisations',
    everyMs: SWEEP_EVERY_MS,
    find: () => database.read<[id: string]>({ text: FIND_DUE, values: [] }),
    addJobs: (rows) =>
      jobs.add(
        DELETION_JOB,
        rows.map(([id]) => id),
      ),
  });
}
