import type { Request } from 'express';
import type { StoredRecord } from '../../declare/host.ts';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Entity } from '../../records/context.ts';
import { assertMatch, readIfMatch } from '../../records/operations/if-match.ts';

const READS = new Set(['GET', 'HEAD']);

/** Whether a path names one record of a resource. */
export function isItemPath(path: string): boolean {
  return /\/:id(\/|$)/.test(path);
}

/** Answers of accounts hold tokens and what belongs to one session: nobody keeps them, so they get no tag. */
export function isTagged({ path }: Route): boolean {
  return !/^\/auth(\/|$)/.test(path);
}

/**
 * Checks `If-Match` of a route that changes something, before its handler runs. One that could not be kept is refused: a
 * client that asks for it must not be overheard. Reads evaluate theirs with the answer.
 *
 * @param entity of an item route of a resource
 * @param doc the record, where the endpoint has loaded it; a handler that loads it itself checks itself
 * @throws ApiError BAD_REQUEST or PRECONDITION_FAILED
 */
export function checkPreconditions(req: Request, entity: Entity | undefined, doc: unknown): void {
  if (READS.has(req.method)) return;
  if (req.headers['if-none-match'] !== undefined) {
    throw new ApiError('BAD_REQUEST', 'If-None-Match is for GET and HEAD; use If-Match');
  }
  if (req.headers['if-match'] === undefined) return;
  if (entity === undefined) throw new ApiError('BAD_REQUEST', 'If-Match is for changes of a single record');
  const ifMatch = readIfMatch(req);
  if (doc !== undefined) assertMatch(entity.versionOf, doc as StoredRecord, ifMatch);
}
