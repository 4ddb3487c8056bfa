import { ApiError } from '../request/errors.ts';
import { type IfMatch, toEntityTag } from './versions.ts';

/** One change of a batch. */
export type BatchOperation =
  | { op: 'create'; data: object }
  | { op: 'update'; id: string; data: object; ifMatch?: IfMatch | undefined }
  | { op: 'upsert'; by: string; data: object }
  | { op: 'delete'; id: string; ifMatch?: IfMatch | undefined };

/** The result of an operation that was performed. A deletion has no `data`. */
export interface BatchSuccess<Record> {
  ok: true;
  /** 201: created; 200: updated; 204: deleted. */
  status: 200 | 201 | 204;
  data: Record;
}

/** The result of an operation that failed. */
export interface BatchFailure {
  ok: false;
  status: number;
  error: ApiError;
}

/** The result of an operation in a batch whose operations succeed or fail one by one. */
export type BatchResult<Record> = BatchSuccess<Record> | BatchFailure;

/** The result of an operation, as the server sends it. */
export interface RawResult {
  status: number;
  data?: unknown;
  error?: { code: string; message: string; details?: { [field: string]: string } };
}

/** Converts `ifMatch` of the operations to entity tags. */
export function encodeOperations(operations: readonly BatchOperation[]): object[] {
  return operations.map((operation) =>
    'ifMatch' in operation && operation.ifMatch !== undefined
      ? { ...operation, ifMatch: toEntityTag(operation.ifMatch) }
      : operation,
  );
}

/**
 * Converts a result that the server sends to that of the client.
 *
 * @param requestId the id of the request of the whole batch
 */
export function toBatchResult({ status, data, error }: RawResult, requestId: string | undefined): BatchResult<unknown> {
  if (error !== undefined) return { ok: false, status, error: new ApiError({ status, ...error, requestId }) };
  return { ok: true, status: status as 200 | 201 | 204, data };
}
