import { hash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSerialQueue, type Executor } from '../../../extension/index.ts';
import { toCanonicalJson } from '../../../platform/helpers/json/canonical-json.ts';
import type { AuditEvent, Entry } from './entry.ts';
import type { Changes, FieldChange } from './responses.ts';
import { COPY_ENTRIES, COPY_VALUES, LOCK_CHAIN, SELECT_LAST_ENTRY, toCopyColumns } from './sql.ts';

/** The previous hash of the first row of a chain. */
export const GENESIS = '0'.repeat(64);

/** The canonical JSON of a row without its position, the hash of the previous row and its own hash. */
type ContentParts = readonly [beforeId: string, beforePreviousHash: string, end: string];

/**
 * Returns the canonical JSON of a row in the parts that the place in the chain does not change, with its members sorted by name.
 *
 * @param changes canonical JSON
 * @param details canonical JSON
 */
function toContentParts(event: AuditEvent | Entry, changes: string, details: string): ContentParts {
  const json = (value: string | null) => JSON.stringify(value ?? null);
  const { at, action, resource, record, user, via, credential, ip, requestId } = event;
  return [
    `{"action":${json(action)},"at":${json(at)},"changes":${changes},"credential":${json(credential)},"details":${details},"id":`,
    `,"ip":${json(ip)},"previousHash":`,
    `,"record":${json(record)},"requestId":${json(requestId)},"resource":${json(resource)},"user":${json(user)},"via":${json(via)}}`,
  ];
}

/** Returns the hash of a row: SHA-256 (hex) of the canonical JSON of all its values, including the hash of the previous row. */
function hashContent([beforeId, beforePreviousHash, end]: ContentParts, id: number, previousHash: string): string {
  return hash('sha256', `${beforeId}${id}${beforePreviousHash}${JSON.stringify(previousHash)}${end}`);
}

/** Returns the hash that an entry must have. */
export function hashEntry(entry: Omit<Entry, 'hash'> & { hash?: string }): string {
  const parts = toContentParts(entry as Entry, toCanonicalJson(entry.changes), toCanonicalJson(entry.details));
  return hashContent(parts, entry.id, entry.previousHash);
}

const hashValue = (salt: string, field: string, change: string) =>
  hash('sha256', `[${JSON.stringify(salt)},${JSON.stringify(field)},${change}]`);

/** Returns the seal that an entry has in place of an erasable value: SHA-256 (hex) with the salt of the row. */
export function createSeal(salt: string, field: string, change: FieldChange): string {
  return hashValue(salt, field, toCanonicalJson(change));
}

/** The position and hash of a row in the chain. */
export interface ChainLink {
  id: number;
  hash: string;
}

/** Locks both ends of the chain until the transaction ends. */
export async function lockChain(tx: Executor): Promise<void> {
  await tx.write({ name: 'audit_lock', text: LOCK_CHAIN, values: [] });
}

/** Returns the last row of the chain, or the last removed one if no rows remain. */
async function readHead(database: Executor): Promise<ChainLink> {
  const [row] = await database.write<[id: number, hash: string]>({
    name: 'audit_head',
    text: SELECT_LAST_ENTRY,
    values: [],
  });
  return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
}

/** Returns the canonical JSON of a value as Postgres stores it: without Infinity, to which JSON.parse turns 1e400. */
function toStoredJson(value: unknown): string {
  const text = toCanonicalJson(value);
  return text.includes('Infinity') ? toCanonicalJson(JSON.parse(JSON.stringify(value))) : text;
}

const SALT_BYTES = 16;

/** Returns the changes of an event as canonical JSON with seals in place of the values that an erasure can remove, and these values as members of an object. */
function sealErasableValues(changes: Changes, erasable: readonly string[], salt: string) {
  const sealed: string[] = [];
  const values: string[] = [];
  for (const field of Object.keys(changes).sort()) {
    const change = changes[field]!;
    const json = toStoredJson(change);
    const isSealed = !('changed' in change) && erasable.includes(field);
    const name = JSON.stringify(field);
    sealed.push(`${name}:${isSealed ? `{"sha256":"${hashValue(salt, field, json)}"}` : json}`);
    if (isSealed) values.push(`${name}:${json}`);
  }
  return { sealed: `{${sealed.join(',')}}`, values };
}

/** An event that only lacks its place in the chain. */
interface PreparedEvent {
  content: ContentParts;
  /** The columns of the entry between its id and the hashes, for `copy`. */
  columns: string;
  /** The columns of the erasable values after the id, for `copy`; undefined if there are none. */
  values: string | undefined;
}

function prepareEvent(event: AuditEvent, salt: string): PreparedEvent {
  const { at, action, resource, record, user, via, credential, ip, requestId, erasable } = event;
  const { sealed, values } =
    event.changes == null
      ? { sealed: null, values: [] }
      : sealErasableValues(event.changes, erasable?.fields ?? [], salt);
  const details = event.details == null ? null : toStoredJson(event.details);
  return {
    content: toContentParts(event, sealed ?? 'null', details ?? 'null'),
    columns: toCopyColumns([at, action, resource, record, user, via, credential, ip, requestId, sealed, details]),
    values: values.length === 0 ? undefined : toCopyColumns([erasable!.owner, salt, `{${values.join(',')}}`]),
  };
}

/** Events that are prepared in one turn of the event loop. Another batch may hold the lock of the chain meanwhile, and must soon go on. */
const EVENTS_PER_TURN = 10;
/** Prepares one batch after the other, so that the first one has the lock of the chain while the next one is prepared. */
const prepareInOrder = createSerialQueue();

async function prepareEvents(events: Iterable<AuditEvent>): Promise<PreparedEvent[]> {
  const prepared: PreparedEvent[] = [];
  let salts = '';
  for (const event of events) {
    const place = prepared.length % EVENTS_PER_TURN;
    if (place === 0) {
      if (prepared.length > 0) await nextTurn();
      // Random bytes in small portions take longer than everything else here.
      salts = randomBytes(SALT_BYTES * EVENTS_PER_TURN).toString('hex');
    }
    prepared.push(prepareEvent(event, salts.slice(2 * SALT_BYTES * place, 2 * SALT_BYTES * (place + 1))));
  }
  return prepared;
}

/** The rows of two statements, for `copy`. */
interface Copied {
  entries: string;
  values: string;
}

// Bounds the size of a statement. Each row may contain a whole record, so a batch of small rows is one statement.
const MAX_LENGTH = 4 * 1024 * 1024;

/** Gives prepared events their places after the last row of the chain. Returns the rows of each pair of statements. */
function placeEvents(prepared: readonly PreparedEvent[], { id, hash: previousHash }: ChainLink): Copied[] {
  const parts: Copied[] = [{ entries: '', values: '' }];
  for (const { content, columns, values } of prepared) {
    id += 1;
    const own = hashContent(content, id, previousHash);
    const { entries, values: full } = parts.at(-1)!;
    if (entries.length + full.length > MAX_LENGTH) parts.push({ entries: '', values: '' });
    const part = parts.at(-1)!;
    part.entries += `${id}\t${columns}\t${previousHash}\t${own}\n`;
    if (values !== undefined) part.values += `${id}\t${values}\n`;
    previousHash = own;
  }
  return parts;
}

/** Appends rows to the chain, in order. Other transactions that append wait until this one ends. */
export async function appendToChain(tx: Executor, events: Iterable<AuditEvent>): Promise<void> {
  const prepared = await prepareInOrder(() => prepareEvents(events));
  // The lock is a statement of its own: the one that waited for it does not see rows that were committed meanwhile. Both are sent at once, because
  // the other appenders wait for this transaction.
  const [, head] = await Promise.all([lockChain(tx), readHead(tx)]);
  for (const { entries, values } of placeEvents(prepared, head)) {
    await tx.write({ text: COPY_ENTRIES, values: [], copied: entries });
    if (values !== '') await tx.write({ text: COPY_VALUES, values: [], copied: values });
  }
}
