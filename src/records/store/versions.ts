import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { createIfMatchError, parseEntityTags, versionOfTag } from '../../platform/http/entity-tag.ts';
import type { Condition } from '../query/list-query.ts';
import type { WrittenByCondition } from '../query/sql/conditions.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { resourceNameOf, transactionIdOf } from '../store/codec.ts';

const YEAR_1 = Date.parse('0001-01-01T00:00:00.000Z');
const YEAR_10000 = Date.UTC(10_000, 0);
const TRANSACTION_ID = /^\d{1,10}$/;
const MAX_TRANSACTION_ID = 2 ** 32 - 1;

/**
 * Returns the version of a record, which distinguishes its state from all of its other states: digits and lowercase letters; undefined if
 * unknown.
 */
export type VersionOf = (record: StoredRecord) => string | undefined;

function formatVersion(ms: number): string {
  // Times before 1970 have a zero instead of the minus sign, which ends the version in an entity tag.
  return ms < 0 ? `0${(-ms).toString(36)}` : ms.toString(36);
}

/** The version of a record by the time of its last change (ISO 8601): no two changes of a record share a millisecond. */
export function versionOfTime(time: string): string {
  return formatVersion(Date.parse(time));
}

/** The time that a version stands for, ISO 8601; undefined for an invalid version. */
function timeOfVersion(version: string): string | undefined {
  const distance = Number.parseInt(version, 36);
  const time = version.startsWith('0') ? -distance : distance;
  if (formatVersion(time) !== version || !(time >= YEAR_1 && time < YEAR_10000)) return undefined;
  return new Date(time).toISOString();
}

/** Whether a version of a record without timestamps is valid: the id of a transaction. */
function isTransactionVersion(version: string): boolean {
  return TRANSACTION_ID.test(version) && Number(version) <= MAX_TRANSACTION_ID;
}

/**
 * Versions identify the last change of a record: by its time or, without timestamps, by its transaction. A version never depends on the
 * content of the record: a repeated version would reveal that a hidden field has its earlier value again.
 */
export function createVersionReader({ timestamps }: CompiledResource): VersionOf {
  return timestamps ? (record) => versionOfTime(record.updatedAt as string) : transactionIdOf;
}

/** The version of a stored record of any resource; undefined for any other value. */
export function findVersion(
  entities: ReadonlyMap<string, { versionOf: VersionOf }>,
  value: unknown,
): string | undefined {
  const name = typeof value === 'object' && value !== null ? resourceNameOf(value) : undefined;
  return name === undefined ? undefined : entities.get(name)!.versionOf(value as StoredRecord);
}

/** The versions in `If-Match`: a write runs only if the record has one of these versions. `*` stands for any version. */
export type IfMatch = '*' | readonly string[];

/**
 * Parses `If-Match`. Only the version in a tag is compared: users who see different fields have different tags for the same version. A weak
 * tag never matches (RFC 9110 §13.1.1).
 *
 * @returns undefined if the header is missing
 * @throws ApiError BAD_REQUEST if the header is malformed
 */
export function parseIfMatchHeader({ headers }: IncomingMessage): IfMatch | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  const versions = parseIfMatch(header);
  if (versions === undefined) throw createIfMatchError();
  return versions;
}

/** Parses a text in the form of `If-Match`; undefined if it is malformed. */
export function parseIfMatch(text: string): IfMatch | undefined {
  const tags = parseEntityTags(text);
  if (tags === undefined || tags === '*') return tags;
  return tags.flatMap(({ weak, opaque }) => (weak ? [] : (versionOfTag(opaque) ?? [])));
}

/** The conditions that a write's statement checks for `If-Match`. */
export function ifMatchConditions(
  { timestamps }: CompiledResource,
  ifMatch: IfMatch | undefined,
): (Condition | WrittenByCondition)[] {
  if (ifMatch === undefined || ifMatch === '*') return [];
  if (!timestamps) return [{ writers: ifMatch.filter(isTransactionVersion) }];
  return [{ field: 'updatedAt', op: 'in', value: ifMatch.flatMap((version) => timeOfVersion(version) ?? []) }];
}

/** @throws ApiError PRECONDITION_FAILED if the record has none of the versions */
export function assertIfMatch(versionOf: VersionOf, record: StoredRecord, ifMatch: IfMatch | undefined): void {
  if (ifMatch === undefined || ifMatch === '*') return;
  const version = versionOf(record);
  if (version !== undefined && ifMatch.includes(version)) return;
  throw new ApiError('PRECONDITION_FAILED');
}
