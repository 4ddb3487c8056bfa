import { z } from 'zod';
import { compiledPolicySettingSchema, durationSetting, lifetimeSetting } from '../../../extension/index.ts';

const count = z.number().int().positive();

/** The schema of the options of `realtime()`. */
export const realtimeSettings = z.strictObject({
  /** Who may open streams. The policies of the resources decide what each stream contains. */
  policy: compiledPolicySettingSchema.prefault('public'),
  /** Seconds for which events are kept for clients that reconnect. */
  windowSeconds: durationSetting('s', count.min(10).max(86_400)).default(600),
  /** Minimum number of newest events that are kept for clients that reconnect, unless they are older than `windowSeconds`. */
  windowEvents: count.max(10_000_000).default(10_000),
  /** Seconds between heartbeats of a stream. */
  heartbeatSeconds: durationSetting('s', z.number().min(0.1).max(300)).default(15),
  /** Maximum open streams of one process. */
  maxStreams: count.default(5000),
  /** Maximum open streams of one user in one process. */
  maxStreamsPerUser: count.default(20),
  /** Maximum open streams of signed-out clients with the same address in one process. */
  maxStreamsPerAddress: count.default(100),
  /** Maximum subscriptions of one stream. */
  maxSubscriptions: count.max(100).default(20),
  /** Maximum unsent bytes of a client that reads slowly. A client with more is disconnected. */
  maxBufferedBytes: count.default(1_048_576),
  /** How long a ticket is valid. */
  ticketTtl: lifetimeSetting('5m', '1s').prefault('30s'),
});

/** The options of `realtime()` as a project writes them. All options are optional. */
export type RealtimeOptions = z.input<typeof realtimeSettings> & {
  /** @deprecated Use `ticketTtl`. */
  ticketSeconds?: number;
};

/** The options of `realtime()` with all defaults filled. */
export type RealtimeSettings = z.output<typeof realtimeSettings>;
