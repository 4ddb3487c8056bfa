import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../declare/host.ts';
import { ApiError } from '../platform/errors.ts';
import { readEntityTags, versionIn } from '../platform/http/entity-tag.ts';
import type { CompiledResource } from './compiled.ts';
import type { Condition } from './query/condition.ts';
import { timeOfVersion, type VersionOf } from './version.ts';

/** The versions of which a record must have one for a write to go ahead; `*` for any. */
export type IfMatch = '*' | readonly string[];

/**
 * Reads `If-Match`. Only the version in a tag counts: who may change a record may have seen more or less of it. A weak tag
 * never matches (RFC 9110 §13.1.1).
 *
 * @returns undefined when there is none
 * @throws ApiError BAD_REQUEST when it is malformed
 */
export function readIfMatch({ headers }: IncomingMessage): IfMatch | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  const tags = readEntityTags(header);
  if (tags === undefined) {
    throw new ApiError('BAD_REQUEST', 'If-Match must be * or a list of entity tags in double quotes');
  }
  if (tags === '*') return '*';
  return tags.flatMap(({ weak, opaque }) => (weak ? [] : (versionIn(opaque) ?? [])));
}

/** Whether only the record itself can tell if it has one of the versions, not a condition in a statement. */
export function asksRecord({ timestamps }: CompiledResource, ifMatch: IfMatch | undefined): boolean {
  return ifMatch !== undefined && ifMatch !== '*' && !timestamps;
}

/** What the statement of a write checks; nothing where `asksRecord`. */
export function matchConditions(resource: CompiledResource, ifMatch: IfMatch | undefined): Condition[] {
  if (ifMatch === undefined || ifMatch === '*' || !resource.timestamps) return [];
  return [{ field: 'updatedAt', op: 'in', value: ifMatch.flatMap((version) => timeOfVersion(version) ?? []) }];
}

/** @throws ApiError PRECONDITION_FAILED when the record has none of the versions */
export function assertMatch(versionOf: VersionOf, record: StoredRecord, ifMatch: IfMatch | undefined): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch.includes(versionOf(record))) return;
  throw new ApiError('PRECONDITION_FAILED');
}
