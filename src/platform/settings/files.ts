import { z } from 'zod';
import type { FileStorage } from '../data/storage/storage.ts';
import { lifetimeSetting } from '../helpers/duration-setting.ts';
import { limitSetting } from '../work/limits/rule.ts';

/** The section `files` of the settings. */
export const fileSettings = z
  .strictObject({
    /** Where files are kept. Required in production if a field holds files; otherwise default `disk({ directory: '.data/files' })`. */
    storage: z
      .custom<FileStorage>((value) => typeof (value as Partial<FileStorage> | null)?.write === 'function', {
        error: 'must be a storage, such as disk({ directory }) or s3({ bucket })',
      })
      .optional(),
    /** How long the URL of a file in a response is valid at most. */
    urlTtl: lifetimeSetting('365d').prefault('15m'),
    /** Maximum number of uploads of a user that no record uses yet. */
    maxPendingPerUser: z.number().int().positive().max(10_000).default(50),
    /** Maximum bytes of these uploads. A single file that its field accepts is always accepted. */
    maxPendingBytesPerUser: z
      .number()
      .int()
      .positive()
      .default(2 ** 30),
    /** The time after which an upload that no record uses is removed. */
    pendingTtl: lifetimeSetting('30d').prefault('1d'),
    /** The limit of uploads for each client. */
    uploadLimit: limitSetting.default({ limit: 60, windowMs: 60_000 }),
  })
  .prefault({});
