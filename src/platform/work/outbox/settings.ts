import { z } from 'zod';
import { durationSetting } from '../../helpers/duration-setting.ts';

const ms = durationSetting('ms', z.number().int().positive());

/** The section `relay` of the settings. */
export const relaySettings = z
  .strictObject({
    /** ms between checks of the outbox when no wake-up arrives. */
    pollMs: ms.default(1000),
    /** ms between sweeps for overdue work. */
    sweepMs: ms.default(5000),
    /** Maximum number of outbox rows that the relay claims in one batch. */
    batch: z.number().int().positive().default(500),
    /** Number of batches that the relay processes concurrently. */
    streams: z.number().int().positive().default(2),
  })
  .prefault({});

/** The settings of `relay` with all defaults filled. */
export type RelaySettings = z.output<typeof relaySettings>;
