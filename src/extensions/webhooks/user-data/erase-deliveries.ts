import { DAY_MS, DecryptionError, type Host, writeInBatches } from '../../../extension/index.ts';
import { DELIVERY_TABLES } from '../deliveries/deliveries-sql.ts';
import { decryptStoredBody } from '../deliveries/stored-body.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type aboutUserSql, FIND_MENTIONING, removeDeliveriesSql, UNKNOWN_MENTIONS } from './user-data-sql.ts';

type AboutRow = [id: string, isAbout: boolean, encryptedBody: string | null];

/**
 * The order in which an erasure goes through the tables. Meanwhile a retry or a recovery may move a delivery from the log to the waiting ones,
 * and its next attempt may move it back to the log, or a sweep may update it just when it is deleted, which skips it. Both tables are read
 * twice, so that an erasure finds such a delivery. One that is moved or updated again may be missed until the erasure runs again.
 */
const ERASURE_PASSES = [...DELIVERY_TABLES, ...DELIVERY_TABLES];

// Deliveries checked by one statement of an erasure, which parses each body and must not exceed the statement timeout.
const BODIES_PER_STATEMENT = 200;
// Deliveries found by one statement of an erasure, without their bodies.
const IDS_AT_ONCE = 5000;
// Records read by one statement of an erasure, whose mentions are then searched for together.
const RECORDS_AT_ONCE = 2000;

/**
 * Returns ranges of finish times that together include every time: the time before the retention period, each day (UTC) of that period and
 * the next day, and the time after it. The ranges ascend, so that a delivery that is sent again meanwhile finishes in a later range.
 */
function rangesOfFinishTimes({ keepDeliveriesDays }: Pick<WebhookSettings, 'keepDeliveriesDays'>) {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const borders: string[] = [];
  for (let at = today - Math.ceil(keepDeliveriesDays) * DAY_MS; at <= today + 2 * DAY_MS; at += DAY_MS)
    borders.push(new Date(at).toISOString());
  return [...borders, 'infinity'].map((end, i) => [borders[i - 1] ?? '-infinity', end] as const);
}

/** What the erasure of deliveries needs. */
interface ErasureDependencies extends Pick<Host, 'database' | 'keyring'> {
  about: ReturnType<typeof aboutUserSql>;
  settings: Pick<WebhookSettings, 'keepDeliveriesDays'>;
}

/**
 * Returns the ids of deliveries with an encrypted body that are about the user. A delivery whose body cannot be decrypted is included,
 * because its content is unknown.
 */
async function findEncryptedAbout(
  { database, keyring, about }: ErasureDependencies,
  userId: string,
  rows: readonly AboutRow[],
): Promise<Set<string>> {
  const found = new Set<string>();
  const opened: [id: string, body: string][] = [];
  for (const [id, , encryptedBody] of rows) {
    if (encryptedBody === null) continue;
    try {
      opened.push([id, decryptStoredBody(keyring, id, { body: '', encryptedBody })]);
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      found.add(id);
    }
  }
  if (opened.length === 0) return found;
  const ids = opened.map(([id]) => id);
  const values = [userId, ids, opened.map(([, body]) => body)];
  const checkedRows = await database.write<AboutRow>({ text: about.decryptedDeliveries, values });
  for (const [id, isAbout] of checkedRows) if (isAbout) found.add(id);
  return found;
}

/** Deletes those of the given deliveries that are about the user. Returns their number. */
async function eraseIfAbout(parts: ErasureDependencies, userId: string, ids: readonly string[]): Promise<number> {
  const { database, about } = parts;
  let total = 0;
  for (let first = 0; first < ids.length; first += BODIES_PER_STATEMENT) {
    const some = ids.slice(first, first + BODIES_PER_STATEMENT);
    const rows = await database.write<AboutRow>({ text: about.deliveries, values: [userId, some] });
    const encrypted = await findEncryptedAbout(parts, userId, rows);
    const found = rows.filter(([id, isAbout]) => isAbout || encrypted.has(id)).map(([id]) => id);
    if (found.length === 0) continue;
    for (const table of ERASURE_PASSES)
      total += (await database.write({ text: removeDeliveriesSql(table), values: [found] })).length;
  }
  return total;
}

/**
 * Reads ids page by page.
 *
 * @param text a statement that selects ids in their order. Its parameters are `values`, then the last id of the previous page, then the
 *   page size
 */
async function* readIds(
  { database }: ErasureDependencies,
  text: string,
  values: readonly unknown[],
  pageSize: number,
): AsyncGenerator<string[]> {
  let page: string[];
  let after = '';
  do {
    page = (await database.write<[string]>({ text, values: [...values, after, pageSize] })).map(([id]) => id);
    if (page.length > 0) yield page;
    after = page.at(-1) ?? '';
  } while (page.length === pageSize);
}

async function eraseWaitingDeliveries(parts: ErasureDependencies, userId: string): Promise<number> {
  const { database, about } = parts;
  let total = 0;
  let rows: [id: string, mayBeAbout: boolean][];
  let after = '';
  do {
    const values = [userId, after, IDS_AT_ONCE];
    rows = await database.write<[string, boolean]>({ text: about.waitingDeliveries, values });
    const found = rows.flatMap(([id, mayBeAbout]) => (mayBeAbout ? [id] : []));
    total += await eraseIfAbout(parts, userId, found);
    after = rows.at(-1)?.[0] ?? '';
  } while (rows.length === IDS_AT_ONCE);
  return total;
}

/** Reads the ids of the user and of their records, which deliveries about them mention. */
async function* readMentionedIds(parts: ErasureDependencies, userId: string): AsyncGenerator<string[]> {
  let batch = [userId];
  for (const text of parts.about.recordIds) {
    for await (const ids of readIds(parts, text, [userId], RECORDS_AT_ONCE)) {
      batch.push(...ids);
      if (batch.length < RECORDS_AT_ONCE) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

async function eraseFinishedDeliveries(parts: ErasureDependencies, userId: string): Promise<number> {
  let total = 0;
  const ranges = rangesOfFinishTimes(parts.settings);
  // Before the search by mentions, because a sweep stores the unknown mentions meanwhile.
  for await (const found of readIds(parts, UNKNOWN_MENTIONS, [], IDS_AT_ONCE))
    total += await eraseIfAbout(parts, userId, found);
  for await (const ids of readMentionedIds(parts, userId)) {
    for (const range of ranges) {
      for await (const found of readIds(parts, FIND_MENTIONING, [ids, ...range], IDS_AT_ONCE))
        total += await eraseIfAbout(parts, userId, found);
    }
  }
  return total;
}

/** Deletes deliveries about a user's records at endpoints of other users. Returns the number of deliveries. */
export async function eraseDeliveriesAbout(parts: ErasureDependencies, userId: string): Promise<number> {
  const { database, about } = parts;
  let total = await writeInBatches(database, about.removeOutboxRows, [userId]);
  for (const table of ERASURE_PASSES)
    total += await (table === 'webhook_deliveries' ? eraseWaitingDeliveries : eraseFinishedDeliveries)(parts, userId);
  return total;
}
