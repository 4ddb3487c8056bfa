import { z } from 'zod';

/** The section `log` of the settings. */
export const logSettings = z
  .strictObject({
    /**
     * The fraction of successful units of work that are logged, for units that occur very often: push chunks, webhook delivery attempts.
     * 1: all of them; 0: none. Failures are always logged.
     */
    sampleRate: z.number().min(0).max(1).default(1),
  })
  .prefault({});

/** The settings of `log` with all defaults filled. */
export type LogSettings = z.output<typeof logSettings>;
