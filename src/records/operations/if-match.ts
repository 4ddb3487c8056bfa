import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { malformedIfMatch, readEntityTags, versionIn } from '../../platform/http/entity-tag.ts';
import type { Condition } from '../query/condition.ts';
import type { Writers } from '../query/writers.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { isTransaction, timeOfVersion, type VersionOf } from './version.ts';

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
