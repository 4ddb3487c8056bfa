import { z } from 'zod';
import { MAX_STALL_MS } from '../../helpers/setting-limits.ts';

/** The section `slowLog` of the settings: what the console lists as slow. Each process keeps the newest and the slowest in memory. */
export const slowLogSettings = z
  .strictObject({
    /** ms from which a request is slow. 0: every request is listed. */
    requestMs: z.number().int().min(0).max(MAX_STALL_MS).default(500),
    /** ms from which a statement is slow. 0: every statement is listed. */
    statementMs: z.number().int().min(0).max(MAX_STALL_MS).default(200),
  })
  .prefault({});
