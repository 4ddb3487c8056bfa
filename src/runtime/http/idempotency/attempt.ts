import type { Request, Response } from 'express';
import type { Viewer } from '../../../declare/policy.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import type { ResponseRecord } from '../../../records/serialize/response-records.ts';

/** A request with an `Idempotency-Key` that has been authorised. */
export interface Attempt {
  req: Request;
  res: Response;
  user: Viewer | undefined;
  key: string;
  body: unknown;
  /** Runs the handler; a record that it creates gets the id `recordId`. Undefined: the handler has sent the response itself. */
  run(recordId: string): Promise<SuccessResponse | undefined>;
  /** The records in the response of `run` or `rebuildCreateResponse` that the caller may read. */
  records(): Promise<readonly ResponseRecord[]>;
  /** Whether the caller may still read the records in an earlier response. */
  mayReadAgain(records: readonly ResponseRecord[], data: unknown): Promise<boolean>;
  /** Rebuilds the response of a create from the record with the reserved id; undefined while there is no such record. */
  rebuildCreateResponse(recordId: string): Promise<SuccessResponse | undefined>;
  /** Whether the record with the reserved id exists. */
  isCreated(recordId: string): Promise<boolean>;
}
