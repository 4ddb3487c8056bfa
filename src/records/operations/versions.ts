import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { malformedIfMatch, readEntityTags, versionIn } from '../../platform/http/entity-tag.ts';
import type { Condition } from '../query/list-query.ts';
import type { Writers } from '../query/sql.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { resourceOf, writerOf } from '../store/codec.ts';

const YEAR_10000 = Date.UTC(10_000, 0);
const TRANSACTION = /^\d{1,10}$/;
const LAST_TRANSACTION = 2 ** 32 - 1;

/** What distinguishes one state of a record from all others that it ever has, in digits and small letters; undefined where it is not known. */
export type VersionOf = (record: StoredRecord) => string | undefined;

/** The version of a record that was last changed then (ISO 8601): no two changes of a record share a millisecond. */
export function versionOfTime(time: string): string {
  return Date.parse(time).toString(36);
}

/** The time behind a version, ISO 8601; undefined for what cannot be one. */
function timeOfVersion(version: string): string | undefined {
  const time = Number.parseInt(version, 36);
  if (time.toString(36) !== version || !(time >= 0 && time < YEAR_10000)) return undefined;
  return new Date(time).toISOString();
}

/** Whether a version of a record without timestamps can be one: the id of a transaction. */
function isTransaction(version: string): boolean {
  return TRANSACTION.test(version) && Number(version) <= LAST_TRANSACTION;
}

/**
 * How versions of a record are distinguished: by its last change; without timestamps by the transaction that made it.
 * Never by what is in them: a version that came back would reveal that a hidden field is again what it was.
 */
export function createVersionOf({ timestamps }: CompiledResource): VersionOf {
  return timestamps ? (record) => versionOfTime(record.updatedAt as string) : writerOf;
}

/** The version of a stored record of any resource; undefined for what is none. */
export function versionOf(entities: ReadonlyMap<string, { versionOf: VersionOf }>, value: unknown): string | undefined {
  const name = typeof value === 'object' && value !== null ? resourceOf(value) : undefined;
  return name === undefined ? undefined : entities.get(name)!.versionOf(value as StoredRecord);
}

/** The versions of which a record must have one for a write to go ahead; `*` for any. */
export type IfMatch = '*' | readonly string[];

/**
 * Reads `If-Match`. Only the version in a tag counts: another writer of a record may have seen more or less of it. A weak tag
 * never matches (RFC 9110 §13.1.1).
 *
 * @returns undefined when there is none
 * @throws ApiError BAD_REQUEST when it is malformed
 */
export function readIfMatch({ headers }: IncomingMessage): IfMatch | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  const tags = readEntityTags(header);
  if (tags === undefined) throw malformedIfMatch();
  if (tags === '*') return '*';
  return tags.flatMap(({ weak, opaque }) => (weak ? [] : (versionIn(opaque) ?? [])));
}

/** What the statement of a write checks. */
export function matchConditions(
  { timestamps }: CompiledResource,
  ifMatch: IfMatch | undefined,
): (Condition | Writers)[] {
  if (ifMatch === undefined || ifMatch === '*') return [];
  if (!timestamps) return [{ writers: ifMatch.filter(isTransaction) }];
  return [{ field: 'updatedAt', op: 'in', value: ifMatch.flatMap((version) => timeOfVersion(version) ?? []) }];
}

/** @throws ApiError PRECONDITION_FAILED when the record has none of the versions */
export function assertMatch(versionOf: VersionOf, record: StoredRecord, ifMatch: IfMatch | undefined): void {
  if (ifMatch === undefined || ifMatch === '*') return;
  const version = versionOf(record);
  if (version !== undefined && ifMatch.includes(version)) return;
  throw new ApiError('PRECONDITION_FAILED');
}
