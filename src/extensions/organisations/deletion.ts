import {
  type AnyService,
  ApiError,
  createReclaimSweep,
  type ExtensionJob,
  quoteIdentifier,
  type ResourceGateway,
  type Sweep,
  type Viewer,
  writeInBatches,
} from '../../extension/index.ts';
import {
  createOrganisationLock,
  findRole,
  type MemberTransaction,
  type OrganisationContext,
} from './membership/context.ts';
import { MEMBERSHIP, ORGANISATION } from './membership/resources.ts';
import { createCircleDeletion } from './tenants/circles.ts';
import type { TenantFields } from './tenants/tenant.ts';

/** The name of the job that deletes the records of an organisation. */
export const DELETION_JOB = 'delete-organisation';

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
  const { host, roles, accounts } = context;
  const lock = createOrganisationLock(context);
  return async (organisation: string, by: Viewer | undefined, tx: MemberTransaction): Promise<void> => {
    await lock(organisation, tx.database);
    if (by !== undefined) {
      const role = await findRole(context, by, organisation, tx.service);
      if (role === undefined) throw new ApiError('NOT_FOUND');
      if (role !== roles.owner) throw new ApiError('FORBIDDEN', 'Only an owner can delete an organisation');
    }
    await tx.database.write({ text: INSERT, values: [organisation, by?.id] });
    await tx.service(ORGANISATION).delete(organisation, { as: 'system' });
    await accounts.revoke({ cause: 'organisation_deleted', userIds: [], organisationIds: [organisation] }, tx);
    tx.afterCommit(() => host.jobs.add(DELETION_JOB, [organisation]));
  };
}

/** The result of one pass over the records of an organisation. */
interface DeletionPass {
  deleted: number;
  /** The error of a record that could not be deleted yet: others refer to it, or too many would be deleted with it. */
  refused: ApiError | undefined;
}

/** Deletes the records of one resource, with an event for each, the newest first: references usually lead to older records. */
async function deleteRecords(service: AnyService, field: string, organisation: string): Promise<DeletionPass> {
  const pass: DeletionPass = { deleted: 0, refused: undefined };
  for await (const { id } of service.each({ [field]: organisation, sort: '-id' }, { as: 'system' })) {
    try {
      await service.delete(id, { as: 'system' });
      pass.deleted++;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 'NOT_FOUND' && error.code !== 'CONFLICT')) throw error;
      if (error.code === 'CONFLICT') pass.refused ??= error;
    }
  }
  return pass;
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
): ExtensionJob {
  const { database, service, resources } = host;
  const all = [...tenantFields, [MEMBERSHIP, 'organisation'] as const];
  const deleteCircle = createCircleDeletion(host, new Map(all));

  /**
   * Repeats the pass until every record is deleted: a record can be deleted once those that refer to it are gone. If only records are left to which
   * others refer, some refer to each other in a circle.
   */
  async function deleteAllRecords(organisation: string): Promise<void> {
    for (;;) {
      const passes: DeletionPass[] = [];
      for (const [name, field] of all) passes.push(await deleteRecords(service(name), field, organisation));
      const refused = passes.find((pass) => pass.refused !== undefined)?.refused;
      if (refused === undefined) return;
      if (passes.every(({ deleted }) => deleted === 0) && !(await deleteCircle(organisation))) throw refused;
    }
  }

  return {
    concurrency: 2,
    async run(organisation) {
      if ((await database.write({ text: FIND, values: [organisation] })).length === 0) return;
      await deleteAllRecords(organisation);
      for (const [name, field] of all) {
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
