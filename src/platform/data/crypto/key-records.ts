import type { Executor } from '../postgres/database.ts';
import { IS_RUNNING } from '../postgres/server-limits.ts';
import type { Keyring } from './keyring.ts';

/** A row of `encryption_keys`. */
export interface KeyRecord {
  keyId: string;
  canary: string;
  firstUsedAt: string;
  retiredAt: string | null;
}

const CANARY = 'canary';

// An advisory lock, held until the end of the transaction, so that only one process records or retires keys at a time.
const LOCK = `select pg_advisory_xact_lock(hashtextextended('encryption_keys', 0))`;

const READ = 'select key_id, canary, first_used_at, retired_at from encryption_keys order by first_used_at, key_id';

// $1: key id, $2: canary. A retired key that encrypts again is no longer retired.
const RECORD = `
  insert into encryption_keys (key_id, canary) values ($1, $2)
  on conflict (key_id) do update set canary = excluded.canary, last_used_at = now(), retired_at = null`;

const RECORD_FOUND = `
  insert into encryption_keys (key_id, canary) select * from unnest($1::text[], $2::text[])
  on conflict (key_id) do nothing`;

// $1: ids of keys to keep, $2: a time. Keys that a process has used after that time are not retired.
const RETIRE = `
  update encryption_keys k set retired_at = now()
  where retired_at is null and key_id <> all($1::text[]) and last_used_at <= $2
    and not exists (select from encryption_processes p where p.key_ids[1] = k.key_id and p.${IS_RUNNING})`;

function canaryContext(keyId: string): string {
  return `encryption_keys/canary/${keyId}`;
}

/** Whether the canary of a key record was encrypted with the key of the ring that has the record's id. */
export function canDecryptCanary(keyring: Keyring, { keyId, canary }: KeyRecord): boolean {
  try {
    return keyring.decrypt(canary, canaryContext(keyId)) === CANARY;
  } catch {
    return false; // a DecryptionError contains no further information
  }
}

/** Prevents other processes from recording or retiring keys until the transaction ends. */
export async function lockKeyRecords(tx: Executor): Promise<void> {
  await tx.write({ text: LOCK, values: [] });
}

/** Returns all keys that the database knows, including retired ones. */
export async function readKeyRecords(executor: Executor): Promise<KeyRecord[]> {
  const rows = await executor.write<[string, string, string, string | null]>({ text: READ, values: [] });
  return rows.map(([keyId, canary, firstUsedAt, retiredAt]) => ({ keyId, canary, firstUsedAt, retiredAt }));
}

/** Records in the database that the newest key of the ring is about to encrypt values. */
export async function recordNewestKey(executor: Executor, keyring: Keyring): Promise<void> {
  const keyId = keyring.keyIds[0]!;
  await executor.write({ text: RECORD, values: [keyId, keyring.encrypt(CANARY, canaryContext(keyId))] });
}

/** Adds records for those keys of the ring that stored values use and that have no record yet. */
export async function recordFoundKeys(executor: Executor, keyring: Keyring, found: readonly string[]): Promise<void> {
  const held = found.filter((keyId) => keyring.keyIds.includes(keyId));
  const canaries = held.map((keyId) => keyring.encrypt(CANARY, canaryContext(keyId), keyId));
  if (held.length > 0) await executor.write({ text: RECORD_FOUND, values: [held, canaries] });
}

/** Retires the keys that are not in `kept` and that no process has encrypted with since `from`. */
export async function retireKeys(tx: Executor, kept: readonly string[], from: string): Promise<void> {
  await tx.write({ text: RETIRE, values: [kept, from] });
}
