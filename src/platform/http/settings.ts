import { z } from 'zod';
import { durationSetting } from '../helpers/duration-setting.ts';
import { MAX_STALL_MS } from '../helpers/setting-limits.ts';

const MEBIBYTE = 2 ** 20;

/** The section `http` of the settings. */
export const httpSettings = z
  .strictObject({
    /** Maximum size of a request body in bytes, after decompression. */
    bodyLimit: z.number().int().positive().default(1_048_576),
    /** Maximum size in bytes of the body of a batch, after decompression, and of the stored records that the batch changes. */
    batchBytes: z
      .number()
      .int()
      .positive()
      .default(8 * MEBIBYTE),
    /** Maximum number of fields in one object of a request body. */
    bodyKeys: z.number().int().positive().default(1000),
    /** Maximum size of the records in one list page, in bytes of JSON. A page that would be larger contains fewer records. */
    pageBytes: z
      .number()
      .int()
      .positive()
      .default(2 * MEBIBYTE),
    /** Maximum bytes of responses that the server holds in memory for one client, until the client has read them. */
    pendingBytesPerClient: z
      .number()
      .int()
      .positive()
      .default(16 * MEBIBYTE),
    /** Maximum bytes of responses that the server holds in memory for all clients together, per process. */
    pendingBytes: z
      .number()
      .int()
      .positive()
      .default(64 * MEBIBYTE),
    /** ms for which a client may read almost nothing of its response before its connection is destroyed. */
    stallMs: durationSetting('ms', z.number().int().min(100).max(MAX_STALL_MS)).default(30_000),
    /** Whether `/readyz` of `web` stays 200, with the status `degraded`, while Redis is not usable: requests work without it. */
    readyWithoutRedis: z.boolean().default(true),
  })
  .refine(({ pendingBytesPerClient, pendingBytes }) => pendingBytesPerClient <= pendingBytes, {
    error: 'pendingBytesPerClient must be at most pendingBytes',
  })
  .prefault({});
