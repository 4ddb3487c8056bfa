import { type Accounts, type ExtensionHost, quoteIdentifier, type ResourceGateway } from '../../../extension/index.ts';
import { createErasureFinisher } from './finish.ts';
import type { RecordEraser, RunningErasure } from './record-eraser.ts';
import type { createOutboxRedactor } from './record-statements.ts';
import { ADD_TO_COUNT, COUNT_RECHECK, SELECT_DUE_ERASURE } from './sql.ts';

/** Delays in ms before the first and the second check for data that requests in progress stored after the erasure of a user. */
const RECHECK_DELAYS_MS = [60_000, 60 * 60_000];

interface AccountErasers {
  /** Erases the record of the user. */
  user: RecordEraser;
  /** Erase the user's records of the other resources whose records have an owner. */
  owned: readonly RecordEraser[];
  redact: ReturnType<typeof createOutboxRedactor>;
}

/**
 * Creates the job that erases an account. The job can be killed at any point and run again: each batch is one transaction that also
 * counts its rows, erased rows are not found again, and the user record is deleted last.
 */
export function createEraseAccountJob(
  host: Pick<ExtensionHost, 'database' | 'transaction' | 'events' | 'log' | 'env' | 'mail' | 'mailTexts' | 'userData'>,
  accounts: Pick<Accounts, 'revoke'>,
  users: ResourceGateway,
  { user, owned, redact }: AccountErasers,
): (id: string) => Promise<void> {
  const { database, log } = host;
  const finish = createErasureFinisher(host, accounts, users, user, owned);
  const changed = owned.filter(({ plan }) => plan.action !== 'keep');
  // Run at the start of the job, because an admin may have changed the user's status since the erasure was requested.
  const markUserDeletingSql = `update ${quoteIdentifier(users.table)} set status = 'deleting' where id = $1 and status is distinct from 'deleting'`;

  async function eraseUserData({ id, userId }: RunningErasure): Promise<void> {
    const failures: unknown[] = [];
    for (const { name, erase } of host.userData()) {
      try {
        const count = await erase(userId);
        if (count > 0) await database.write({ text: ADD_TO_COUNT, values: [id, `erased:${name}`, count] });
      } catch (error) {
        // Continue with the data of the other features. The job then fails and is retried; the user record stays until all succeed.
        log.error({ err: error, erasure: id, data: name }, 'Could not erase data of a user');
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async function eraseRecords(erasing: RunningErasure): Promise<number> {
    let total = 0;
    for (const share of changed) total += await share.eraseRecords(erasing);
    return total;
  }

  // User data of features (such as sent events) is found through the user's records, so erase it before the records, and once more
  // after them for data stored meanwhile. Some of it has no index by user and needs a scan, so skip the second pass without records.
  async function eraseRecordsAndUserData(erasing: RunningErasure): Promise<void> {
    await redact(erasing.userId);
    await eraseUserData(erasing);
    let hadRecords = false;
    while ((await eraseRecords(erasing)) > 0) {
      hadRecords = true;
      await redact(erasing.userId);
    }
    if (hadRecords) await eraseUserData(erasing);
  }

  return async (id) => {
    type Row = [userId: string, status: string, looks: number];
    const [row] = await database.write<Row>({ text: SELECT_DUE_ERASURE, values: [id] });
    if (row === undefined) return;
    const [userId, status, looks] = row;
    const erasing = { id, userId };
    if (status === 'running') {
      await database.write({ text: markUserDeletingSql, values: [userId] });
      await eraseRecordsAndUserData(erasing);
      await finish(erasing, RECHECK_DELAYS_MS[0]!);
    } else {
      await eraseRecordsAndUserData(erasing);
      await database.write({ text: COUNT_RECHECK, values: [id, looks, RECHECK_DELAYS_MS[looks + 1] ?? null] });
    }
  };
}
