import type { ListQuery, RecordSelection } from '../records/list-query.ts';
import type { CachedList } from './options.ts';
import type { ChangeView, PendingChange } from './pending-changes.ts';
import type { AnyRecord } from './resource.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Whether two values are the same reference, expanded or not. */
function isSameReference(expanded: unknown, reference: unknown): boolean {
  if (Array.isArray(expanded))
    return (
      Array.isArray(reference) &&
      expanded.length === reference.length &&
      expanded.some(isObject) &&
      expanded.every((one, i) => isSameReference(one, reference[i]))
    );
  if (!isObject(expanded) || typeof expanded.id !== 'string') return expanded === reference;
  return expanded.id === (isObject(reference) ? reference.id : reference);
}

/** The names that `include` adds to a record, which a response without `include` lacks. */
const includedNames = ({ include = [] }: RecordSelection) => new Set(include.map((path) => path.split('.', 1)[0]!));

/** Whether a record is at least as new as another one. Undefined if the records do not show that. */
function isAtLeast({ updatedAt }: AnyRecord, other: AnyRecord): boolean | undefined {
  if (typeof updatedAt !== 'string' || typeof other.updatedAt !== 'string') return undefined;
  return updatedAt >= other.updatedAt;
}

/**
 * Replaces a cached record by a newer one of a response without `include` and `fields`. Expanded references stay if they still lead to the same
 * records. Returns the cached record if it is newer.
 */
export function mergeRecord(cached: AnyRecord, received: AnyRecord, selection: RecordSelection): AnyRecord {
  if (isAtLeast(cached, received)) return cached;
  const included = includedNames(selection);
  const selected = selection.fields?.length ? new Set<string>(selection.fields) : undefined;
  const isShown = (name: string) => selected === undefined || name === 'id' || selected.has(name) || included.has(name);
  const kept = Object.entries(cached).filter(([name]) => included.has(name) && !(name in received));
  const taken = Object.entries(received)
    .filter(([name]) => isShown(name))
    .map(([name, value]) => [name, included.has(name) && isSameReference(cached[name], value) ? cached[name] : value]);
  return Object.fromEntries([...taken, ...kept]) as AnyRecord;
}

/** A value as responses contain it. Undefined: responses leave it out, or only the server knows it. */
function toResponseValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toResponseValue);
  return value ?? undefined;
}

/** Whether only the server knows how it will return a value: that of a file, with its URL. */
const isFile = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(isFile) : isObject(value) && typeof value.id === 'string' && 'bytes' in value;

/** A record as it will be after an update. */
function applyUpdate(record: AnyRecord, changes: Fields, { fields, include }: RecordSelection): AnyRecord {
  const included = includedNames({ include });
  const next: Record<string, unknown> = { ...record };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || (fields?.length && !fields.includes(name) && !included.has(name))) continue;
    if (isFile(value) || (isFile(record[name]) && value !== null)) continue;
    if (isSameReference(record[name], value)) continue;
    const shown = toResponseValue(value);
    if (shown === undefined) delete next[name];
    else next[name] = shown;
  }
  return next as AnyRecord;
}

/** A record with a pending or confirmed change; undefined if it is deleted. */
function applyChange(record: AnyRecord, change: PendingChange, selection: RecordSelection): AnyRecord | undefined {
  const { op, changes, confirmed } = change;
  if (confirmed === undefined) return op === 'delete' ? undefined : applyUpdate(record, changes, selection);
  if (confirmed.record === undefined) return undefined;
  // Without a time, it is unknown which state is newer.
  return isAtLeast(record, confirmed.record) === undefined ? record : mergeRecord(record, confirmed.record, selection);
}

/** A record with all changes of it, in their order; undefined if it is deleted. */
function applyToRecord(
  record: AnyRecord,
  changes: readonly PendingChange[],
  selection: RecordSelection,
): AnyRecord | undefined {
  let result: AnyRecord | undefined = record;
  for (const change of changes) {
    if (change.recordId !== record.id) continue;
    result = result && applyChange(result, change, selection);
  }
  return result;
}

type Condition = NonNullable<ListQuery['where']>[string];

/** A value of a field as filters compare it: a reference is its id. Undefined for what cannot be compared here. */
function comparable(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  // The server compares decimal numbers and times by value, not by their texts.
  if (typeof value === 'string') return /^[-+\d]/.test(value) ? undefined : value;
  return undefined;
}

/** Whether a value definitely does not meet a condition. */
function definitelyFails(value: unknown, condition: Condition): boolean {
  if (condition === undefined) return false;
  const reference = isObject(value) && !Array.isArray(value) && typeof value.id === 'string' ? value.id : value;
  if (condition === null) return reference !== undefined;
  if (Array.isArray(condition)) return definitelyFails(value, { in: condition });
  if (!isObject(condition) || condition instanceof Date) return definitelyFails(value, { eq: condition });
  const isEqual = (one: unknown): boolean | undefined => {
    const [a, b] = [comparable(reference), comparable(one)];
    if (reference === undefined) return false;
    if (a === undefined || typeof a !== typeof b) return undefined;
    // Some types of fields compare texts without their case, or composed and decomposed letters as the same.
    const fold = (one: unknown) => String(one).toLowerCase().normalize();
    return a === b || (fold(a) === fold(b) ? undefined : false);
  };
  const { eq, ne, in: oneOf, nin, exists } = condition as Record<string, unknown>;
  return (
    (eq !== undefined && eq !== null && isEqual(eq) === false) ||
    (ne !== undefined && ne !== null && isEqual(ne) === true) ||
    (Array.isArray(oneOf) && oneOf.every((one) => isEqual(one) === false)) ||
    (Array.isArray(nin) && nin.some((one) => isEqual(one) === true)) ||
    (typeof exists === 'boolean' && exists !== (reference !== undefined))
  );
}

/** Whether a record, after a change of fields, definitely does not meet the filters of a list any more. */
export function definitelyLeaves(changed: AnyRecord, fields: object, where: ListQuery['where'] = {}): boolean {
  return Object.keys(fields).some((name) => definitelyFails(changed[name], where[name]));
}

/**
 * Whether changes have definitely moved a record out of a list. Conditions that only the server can test do not count.
 *
 * @param loaded the record as the server has returned it for the list
 */
function hasLeft(
  loaded: AnyRecord,
  changed: AnyRecord,
  changes: readonly PendingChange[],
  where: ListQuery['where'] = {},
): boolean {
  return changes.some(({ recordId, confirmed, changes: fields }) => {
    const isMissing = confirmed === undefined || (confirmed.record && isAtLeast(loaded, confirmed.record) === false);
    return recordId === loaded.id && isMissing && definitelyLeaves(changed, fields, where);
  });
}

/**
 * The records of a list with pending changes. Returns the same array if no change concerns it.
 *
 * @param changes of this resource and user
 */
function applyToList(records: AnyRecord[], changes: readonly PendingChange[], query: ListQuery): AnyRecord[] {
  // Whether deleted records belong to the list is up to the server.
  const relevant = query.deleted === undefined ? changes : changes.filter(({ op }) => op !== 'delete');
  const ids = new Set(relevant.map(({ recordId }) => recordId));
  if (!records.some(({ id }) => ids.has(id))) return records;
  return records.flatMap((record) => {
    if (!ids.has(record.id)) return record;
    const changed = applyToRecord(record, relevant, query);
    return changed === undefined || hasLeft(record, changed, relevant, query.where) ? [] : changed;
  });
}

/** Shows pending changes. */
export const changeView: ChangeView = { applyToList, applyToRecord };

/** Replaces or removes one record in the pages of a cached list. Returns the same list if it does not contain the record. */
export function changeInList(
  list: CachedList<AnyRecord>,
  id: string,
  change: (record: AnyRecord) => AnyRecord | undefined,
): CachedList<AnyRecord> {
  if (!list.pages.some(({ data }) => data.some((one) => one.id === id))) return list;
  const pages = list.pages.map(({ data, meta }) => ({
    data: data.flatMap((one) => (one.id === id ? (change(one) ?? []) : one)),
    meta,
  }));
  const removed = list.pages.flatMap(({ data }) => data).length - pages.flatMap(({ data }) => data).length;
  return {
    ...list,
    pages: pages.map(({ data, meta }) => ({
      data,
      meta: meta.total === undefined ? meta : { ...meta, total: meta.total - removed },
    })),
  };
}
