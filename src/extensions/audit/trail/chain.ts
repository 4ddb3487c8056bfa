import { hash, randomBytes } from 'node:crypto';
import type { Executor } from '../../../extension/index.ts';
import { toCanonicalJson } from '../../../platform/helpers/json/canonical-json.ts';
import type { AuditEvent, Changes, Entry, FieldChange } from './entry.ts';
import { INSERT_ENTRIES, INSERT_VALUES, LOCK_CHAIN, SELECT_LAST_ENTRY } from './sql.ts';

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

/** The values of a row that an erasure can remove. */
interface ErasableValues {
  owner: string;
  salt: string;
  /** JSON, by field. */
  values: string;
}

/** Returns the JSON of the changes of an event, with seals in place of the erasable values, and these values. */
function sealErasableValues(
  changes: Changes,
  { owner, fields }: NonNullable<AuditEvent['erasable']>,
  salt: string,
): [changes: string, values: ErasableValues | undefined] {
  const sealed = { ...changes };
  let values = '';
  for (const field of fields) {
    const change = changes[field];
    if (change === undefined || 'changed' in change) continue;
    const json = toStoredJson(change);
    values += `${values === '' ? '' : ','}${JSON.stringify(field)}:${json}`;
    sealed[field] = { sha256: hashValue(salt, field, json) };
  }
  return [toStoredJson(sealed), values === '' ? undefined : { owner, salt, values: `{${values}}` }];
}

/** An event that only lacks its place in the chain. */
interface PreparedEvent {
  event: AuditEvent;
  /** JSON; null if there are none. */
  changes: string | null;
  /** JSON; null if there are none. */
  details: string | null;
  content: ContentParts;
  erasable: ErasableValues | undefined;
}

function prepareEvents(events: readonly AuditEvent[]): PreparedEvent[] {
  // Random bytes in small portions take longer than everything else here.
  const salts = randomBytes(SALT_BYTES * events.length).toString('hex');
  return events.map((event, i) => {
    const { erasable } = event;
    const salt = salts.slice(2 * SALT_BYTES * i, 2 * SALT_BYTES * (i + 1));
    const [changes, values] =
      erasable !== undefined && event.changes !== null
        ? sealErasableValues(event.changes, erasable, salt)
        : [toStoredJson(event.changes ?? null), undefined];
    const details = toStoredJson(event.details ?? null);
    return {
      event,
      changes: changes === 'null' ? null : changes,
      details: details === 'null' ? null : details,
      content: toContentParts(event, changes, details),
      erasable: values,
    };
  });
}

/** A prepared event at its place in the chain. */
interface PlacedEvent extends PreparedEvent, ChainLink {
  previousHash: string;
}

// JSON contains no line break, and unlike an array it can be sent and parsed without escaping its quotation marks.
const joinLines = (texts: readonly (string | null)[]) => texts.map((text) => text ?? '').join('\n');

function insertEntries(tx: Executor, placed: readonly PlacedEvent[]): Promise<unknown> {
  const pick = <K extends keyof AuditEvent>(key: K) => placed.map(({ event }) => event[key] ?? null);
  const columns = [
    placed.map(({ id }) => id),
    ...(['at', 'action', 'resource', 'record', 'user', 'via', 'credential', 'ip', 'requestId'] as const).map(pick),
    joinLines(placed.map(({ changes }) => changes)),
    joinLines(placed.map(({ details }) => details)),
    placed.map(({ previousHash }) => previousHash),
    placed.map(({ hash: own }) => own),
  ];
  return tx.write({ name: 'audit_insert', text: INSERT_ENTRIES, values: columns });
}

async function insertValues(tx: Executor, placed: readonly PlacedEvent[]): Promise<void> {
  const rows = placed.flatMap(({ id, erasable }) => (erasable === undefined ? [] : [{ id, ...erasable }]));
  if (rows.length === 0) return;
  const columns = [
    rows.map(({ id }) => id),
    rows.map(({ owner }) => owner),
    rows.map(({ salt }) => salt),
    joinLines(rows.map(({ values }) => values)),
  ];
  await tx.write({ name: 'audit_insert_values', text: INSERT_VALUES, values: columns });
}

// Bounds the size of an insert statement. Each row may contain a whole record, so a batch of small rows is one statement.
const MAX_ROWS = 500;
const MAX_JSON_LENGTH = 4 * 1024 * 1024;

/** Splits rows into those of one statement each. */
function splitRows(placed: readonly PlacedEvent[]): PlacedEvent[][] {
  const parts: PlacedEvent[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const row of placed) {
    const own = (row.changes?.length ?? 0) + (row.details?.length ?? 0) + (row.erasable?.values.length ?? 0);
    length += own;
    if (length > MAX_JSON_LENGTH || parts.at(-1)!.length === MAX_ROWS) {
      parts.push([]);
      length = own;
    }
    parts.at(-1)!.push(row);
  }
  return parts;
}

/** Appends rows to the chain, in order. Other transactions that append wait until this one ends. */
export async function appendToChain(tx: Executor, events: readonly AuditEvent[]): Promise<void> {
  const prepared = prepareEvents(events);
  // The lock is a statement of its own: the one that waited for it does not see rows that were committed meanwhile. All statements are sent
  // without waiting for the results of those before, because the other appenders wait for this transaction.
  const [, head] = await Promise.all([lockChain(tx), readHead(tx)]);
  let last = head;
  const placed = prepared.map((one): PlacedEvent => {
    const previousHash = last.hash;
    const id = last.id + 1;
    last = { id, hash: hashContent(one.content, id, previousHash) };
    return { ...one, ...last, previousHash };
  });
  await Promise.all(splitRows(placed).flatMap((rows) => [insertEntries(tx, rows), insertValues(tx, rows)]));
}
