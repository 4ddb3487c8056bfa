import {
  type Accounts,
  ConfigErrors,
  createErasurePlan,
  createReclaimSweep,
  createRetentionSweep,
  type ExtensionHost,
  type FeatureParts,
  findsRowSql,
  type OutboxConsumer,
  quoteIdentifier,
  type ResourceGateway,
  type Sweep,
} from '../../../extension/index.ts';
import { checkErasureConfig } from './config-errors.ts';
import { createEraseAccountJob } from './erase-account.ts';
import { createRecordEraser } from './record-eraser.ts';
import { createOutboxRedactor } from './record-statements.ts';
import { createRequestErasure } from './request.ts';
import { erasureRoutes } from './routes.ts';
import { REMOVE_SENT_NOTICES, SELECT_DUE_ERASURE_IDS } from './sql.ts';

const SWEEP_EVERY_MS = 5000;
const MAX_DUE = 500;

/** Creates the sweeps that enqueue due erasures and remove e-mails about finished ones. */
function createErasureSweeps({ database, jobs }: Pick<ExtensionHost, 'database' | 'jobs'>): Sweep[] {
  return [
    createReclaimSweep({
      name: 'erasures of accounts',
      everyMs: SWEEP_EVERY_MS,
      condition: findsRowSql('select from privacy_erasures where due_at <= now() limit 1'),
      find: async () =>
        (await database.write<[id: string]>({ text: SELECT_DUE_ERASURE_IDS, values: [MAX_DUE] })).flat(),
      addJobs: (ids) => jobs.add('erase', ids),
    }),
    createRetentionSweep(database, {
      name: 'e-mails about erasures',
      everyMs: SWEEP_EVERY_MS,
      condition: findsRowSql('select from privacy_erasures where notice_id is not null limit 1'),
      removals: [{ text: REMOVE_SENT_NOTICES }],
    }),
  ];
}

/** Creates the relay consumer that resets the status to `deleting` if a user is changed or restored during their erasure. */
function createDeletingStatusConsumer(users: ResourceGateway): OutboxConsumer {
  const names = new Set([`${users.name}.updated`, `${users.name}.restored`]);
  const text = `
    update ${quoteIdentifier(users.table)} u set status = 'deleting' from privacy_erasures e
    where u.id = any($1) and e.user_id = u.id and e.status = 'running' and u.status is distinct from 'deleting'`;
  return {
    wants: (row) => names.has(row.name),
    async handle(rows, tx) {
      await tx.write({ text, values: [rows.map((row) => row.recordId)] });
      return undefined;
    },
  };
}

export { erasures } from './erasure.ts';

/** Returns the routes, the job, the relay consumer and the sweeps that erase accounts. */
export function createErasureParts(host: ExtensionHost, accounts: Accounts, users: ResourceGateway): FeatureParts {
  const collectConfigErrors = (errors: ConfigErrors) => {
    checkErasureConfig(host.resources, users, errors);
    return errors;
  };
  // No erasure plan can be built from invalid options. Only report the errors: the app does not start.
  if (collectConfigErrors(new ConfigErrors()).lines.length > 0) return { checkConfig: collectConfigErrors };
  const owned = host.resources.flatMap((gateway) => {
    const plan = createErasurePlan(gateway.declaration, false);
    return gateway === users || plan.ownerField === undefined ? [] : [createRecordEraser(host, gateway, plan)];
  });
  // A user resource may have an owner field, but an erasure removes only the user's own account.
  const plan = { ...createErasurePlan(users.declaration, true), ownerField: 'id', ownerColumn: 'id' };
  const user = createRecordEraser(host, users, plan);
  const redact = createOutboxRedactor(host, [user, ...owned.filter((share) => share.plan.action !== 'keep')]);
  return {
    routes: erasureRoutes(host, accounts, users, createRequestErasure(host, accounts, users)),
    jobs: { erase: { run: createEraseAccountJob(host, accounts, users, { user, owned, redact }), concurrency: 2 } },
    consumers: [createDeletingStatusConsumer(users)],
    sweeps: createErasureSweeps(host),
  };
}
