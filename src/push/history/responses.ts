// What the routes of pushes and their devices respond with. Times are ISO 8601, tokens of devices are masked.

export type Platform = 'ios' | 'android' | 'web';

/** `captured`: stored instead of sent, in development and tests. `queued`: not finished yet. */
export type PushStatus = 'captured' | 'sent' | 'partial' | 'failed' | 'no-devices' | 'queued';

/** The recipients of a push as its sender named them; none for large audiences. */
export interface PushAudience {
  /** The number of users in `to`. */
  users: number;
  /** The number of devices in `deviceIds`. */
  devices: number;
  /** The user, if there is exactly one. */
  user: string | null;
}

/** A push in a list. Times are ISO 8601. */
export interface PushSummary {
  id: string;
  status: PushStatus;
  /** The texts of the message. */
  title: string | null;
  body: string | null;
  isSilent: boolean;
  audience: PushAudience;
  createdAt: string;
  finishedAt: string | null;
  /** `opened` and `failedLater` are null for pushes to more than 1,000 devices. `failedLater`: reported by the provider afterwards. */
  counts: { devices: number; accepted: number; opened: number | null; failedLater: number | null };
}

/** An event in the timeline of a device, in chronological order. */
export interface TimelineEntry {
  at: string;
  /**
   * `queued`; `sent`: passed to its transport; `accepted` or `refused`: the provider's result; `retry`: time of the next try;
   * `receipt`: the provider reported later; `opened`.
   */
  event: 'queued' | 'sent' | 'accepted' | 'refused' | 'retry' | 'receipt' | 'opened';
  /** Set for the event `receipt`: whether the provider reported a success. */
  ok?: boolean;
  /** The provider's id of the notification. */
  id?: string;
  error?: string;
}

/** A device of a push, with the timeline of its notification. */
export interface DeviceHistory {
  /** The id of the device; null for a raw token. */
  device: string | null;
  user: string | null;
  /** The name of the device when the push was sent. */
  name: string | null;
  platform: Platform;
  /** The token of the device, masked. */
  token: string;
  /** The name of the transport; null if no transport accepts the device, or if the transport is not known yet. */
  transport: string | null;
  /** Whether the provider accepted the notification; null before the first result. */
  ok: boolean | null;
  error: string | null;
  timeline: TimelineEntry[];
}

/** A push to a device with its timeline. `push`: the id of the push. */
export type PushOfDevice = DeviceHistory & { push: string; title: string | null; body: string | null };

/** Device counts of a push by state. */
export interface PushCounts {
  /** Devices found so far. */
  devices: number;
  /** Devices not tried yet. */
  queued: number;
  /** Devices for which the provider accepted the push, or the push was captured. */
  accepted: number;
  /** Devices for which the push failed for good. */
  failed: number;
  /** Devices for which the push failed and will be retried. */
  retrying: number;
  /** Devices with a later report of the provider. */
  receipts: number;
  /** Devices for which the provider reported later that the notification failed. */
  receiptsFailed: number;
  opened: number;
}

/** A push with one page of its devices. */
export interface PushDetails {
  id: string;
  status: PushStatus;
  message: Record<string, unknown>;
  createdAt: string;
  expiresAt: string | null;
  finishedAt: string | null;
  counts: PushCounts;
  devices: DeviceHistory[];
}

/** A part of a push that one worker sends with one transport. Times are ISO 8601. */
export interface PushChunk {
  chunk: number;
  /** Null if no transport accepts its devices. */
  transport: string | null;
  devices: number;
  /** How often a worker has claimed it: more than once after retries, or if a worker was lost. */
  claims: number;
  /** The time of the next try; null if the chunk is finished. */
  dueAt: string | null;
  /** When every device had been tried once. */
  answeredAt: string | null;
  finishedAt: string | null;
}

/** A device that is no longer registered, with the last failure of a push to it. */
export interface RemovedDevice {
  id: string;
  user: string | null;
  name: string | null;
  platform: Platform;
  /** Masked. */
  token: string;
  /** What the provider said. */
  error: string | null;
  /** ISO 8601. */
  failedAt: string;
  push: string;
}
