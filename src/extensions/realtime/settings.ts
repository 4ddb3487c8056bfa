import { z } from 'zod';
import { compiledPolicySetting } from '../../declare/extension-settings.ts';

const count = z.number().int().positive();

/** The settings of the extension. */
export const realtimeSettings = z.strictObject({
  /** Who may open streams at all. What each is shown is for the policies of the resources. */
  policy: compiledPolicySetting.prefault('public'),
  /** How long events are kept for clients that come back. */
  windowSeconds: count.min(10).max(86_400).default(600),
  /** How many events are kept, at least, for clients that come back; fewer when they are older than the window. */
  windowEvents: count.max(10_000_000).default(10_000),
  /** Seconds between signs of life on a stream. */
  heartbeatSeconds: z.number().min(0.1).max(300).default(15),
  /** Open streams of one process. */
  maxStreams: count.default(5000),
  /** Open streams of one user in one process. */
  maxStreamsPerUser: count.default(20),
  /** Open streams of one address whose clients are signed out, in one process. */
  maxStreamsPerAddress: count.default(100),
  /** Subscriptions of one stream. */
  maxSubscriptions: count.max(100).default(20),
  /** Bytes that wait for a client that is slow to read. A client with more is cut off. */
  maxBufferedBytes: count.default(1_048_576),
  /** Seconds for which a ticket is good. */
  ticketSeconds: count.max(300).default(30),
});

/** The settings of the extension as a project writes them: everything may be left out. */
export type RealtimeOptions = z.input<typeof realtimeSettings>;

/** The settings with all defaults filled. */
export type RealtimeSettings = z.output<typeof realtimeSettings>;
