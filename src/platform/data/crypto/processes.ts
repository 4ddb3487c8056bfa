import { newId } from '../../helpers/ids.ts';
import type { Logger } from '../../observability/log.ts';
import type { Database, Executor } from '../postgres/database.ts';
import { IS_RUNNING } from '../postgres/server-limits.ts';
import { deleteUnlockedSql } from '../postgres/write-in-batches.ts';
import type { Keyring } from './keyring.ts';

const HEARTBEAT_MS = 15_000;

// $1: process id, $2: the ids of its keys, newest first. Returns the ids of the keys in use that the process lacks.
const HEARTBEAT = `
  with seen as (
    insert into encryption_processes (id, key_ids) values ($1, $2) on conflict (id) do update set seen_at = now()
  ), used as (
    update encryption_keys set last_used_at = now(), retired_at = null where key_id = ($2::text[])[1]
  )
  select key_id from encryption_keys where retired_at is null and key_id <> all($2::text[])`;

// $1: id of a process that stops, $2: its newest key. The process may have encrypted a moment ago, so the key was in use until now.
const LEAVE = `
  with gone as (delete from encryption_processes where id = $1)
  update encryption_keys set last_used_at = now() where key_id = $2`;

const REMOVE_EXPIRED = deleteUnlockedSql('encryption_processes', `not ${IS_RUNNING}`);

// Counts the running processes, grouped by their first key and by whether they have the key $1.
const RUNNING = `
  select key_ids[1], $1 = any(key_ids), count(*)::int from encryption_processes where ${IS_RUNNING} group by 1, 2 order by 1, 2`;

/** The number of running processes, by the key that they encrypt with. */
export interface RunningProcesses {
  firstKey: string;
  count: number;
  /** Whether these processes have the key that `readRunningProcesses` was called with. */
  hasKey: boolean;
}

/** Returns the running processes, and whether they can decrypt values that the key `keyId` encrypted. */
export async function readRunningProcesses(executor: Executor, keyId: string): Promise<RunningProcesses[]> {
  const rows = await executor.write<[string, boolean, number]>({ text: RUNNING, values: [keyId] });
  return rows.map(([firstKey, hasKey, count]) => ({ firstKey, hasKey, count }));
}

/** The row of this process in `encryption_processes`, which says that the process is running. */
export interface ProcessRegistration {
  id: string;
  /** Renews the row every 15 seconds. */
  startHeartbeat(): void;
  /** Deletes the row. Never rejects: a row that stays expires after a minute. */
  deleteRegistration(): Promise<void>;
}

/** Adds the row of this process to `encryption_processes`, in the transaction that records its newest key. */
export async function registerProcess(
  tx: Executor,
  database: Database,
  keyring: Keyring,
  log: Logger,
): Promise<ProcessRegistration> {
  const id = newId();
  const loggedKeyIds = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let pendingHeartbeat: Promise<void> = Promise.resolve();

  const recordHeartbeatAndFindMissingKeys = (executor: Executor) =>
    executor.write<[string]>({ text: HEARTBEAT, values: [id, keyring.keyIds] });

  async function sendHeartbeatAndLogMissingKeys(): Promise<void> {
    try {
      for (const [keyId] of await recordHeartbeatAndFindMissingKeys(database)) {
        if (!loggedKeyIds.has(keyId))
          log.error(
            { keyId },
            'values are encrypted with a key that is missing from SVC_ENCRYPTION_KEYS of this process',
          );
        loggedKeyIds.add(keyId);
      }
    } catch (error) {
      log.warn({ err: error }, 'the encryption keys of this process could not be recorded');
    }
  }

  await tx.write({ text: REMOVE_EXPIRED, values: [] });
  await recordHeartbeatAndFindMissingKeys(tx);
  return {
    id,
    startHeartbeat() {
      timer = setInterval(() => {
        pendingHeartbeat = pendingHeartbeat.then(sendHeartbeatAndLogMissingKeys);
      }, HEARTBEAT_MS);
      timer.unref();
    },
    async deleteRegistration() {
      clearInterval(timer);
      await pendingHeartbeat;
      try {
        await database.write({ text: LEAVE, values: [id, keyring.keyIds[0]] });
      } catch (error) {
        log.warn(
          { err: error },
          'the end of this process could not be recorded; its encryption keys count as in use for a minute',
        );
      }
    },
  };
}
