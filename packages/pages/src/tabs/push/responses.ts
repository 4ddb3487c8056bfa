// What the server returns below /push. Times are ISO 8601, tokens of devices are masked.

export type Platform = 'ios' | 'android' | 'web';

export type PushStatus = 'sent' | 'captured' | 'partial' | 'failed' | 'no-devices' | 'queued';

/** A push in the list. */
export interface ListedPush {
  id: string;
  status: PushStatus;
  title: string | null;
  body: string | null;
  isSilent: boolean;
  /** The numbers of users and devices that the sender named, and the user if there is only one. */
  audience: { users: number; devices: number; user: string | null };
  createdAt: string;
  /** `opened` and `failedLater` are null for large pushes. `failedLater`: reported by the provider afterwards. */
  counts: { devices: number; accepted: number; opened: number | null; failedLater: number | null };
}

/** What happened to a push on a device. */
export interface TimelineEntry {
  at: string;
  event: 'queued' | 'sent' | 'accepted' | 'refused' | 'retry' | 'receipt' | 'opened';
  /** Whether the provider reported a success, for the event `receipt`. */
  ok?: boolean;
  /** The provider's id of the notification. */
  id?: string;
  error?: string;
}

/** The result of a push on a device. */
export interface DeviceResult {
  /** The id of the device; null for a raw token. */
  device: string | null;
  user: string | null;
  name: string | null;
  platform: Platform;
  token: string;
  transport: string | null;
  /** Whether the provider accepted the push; null before the first result. */
  ok: boolean | null;
  error: string | null;
  timeline: TimelineEntry[];
  /** Null for a raw token. */
  isRegistered: boolean | null;
}

/** The first recipients, and the number of all. */
interface Recipients {
  ids: string[];
  total: number;
}

/** The numbers of devices by result. */
export type PushCounts = Record<
  'devices' | 'queued' | 'accepted' | 'failed' | 'retrying' | 'receiptsFailed' | 'opened',
  number
>;

/** A part of a push that one worker sends with one transport. */
export interface Chunk {
  chunk: number;
  transport: string | null;
  devices: number;
  claims: number;
  dueAt: string | null;
  answeredAt: string | null;
  finishedAt: string | null;
}

/** A push on its own page, with one page of its devices. */
export interface PushDetails {
  id: string;
  status: PushStatus;
  message: { title?: string; body?: string; silent?: boolean; [name: string]: unknown };
  audience: { users: Recipients; devices: Recipients };
  createdAt: string;
  expiresAt: string | null;
  finishedAt: string | null;
  counts: PushCounts;
  devices: DeviceResult[];
  chunks: Chunk[];
}

/** A device in the list. */
export interface Device {
  id: string;
  user: string;
  platform: Platform;
  name: string | null;
  appVersion: string | null;
  locale: string | null;
  token: string;
  isSimulated: boolean;
  state: 'signed-in' | 'expired' | 'unbound';
  createdAt: string;
  lastSeenAt: string;
}

/** The result of a push on the device whose page shows it. */
export interface PushOfDevice extends DeviceResult {
  /** The id of the push. */
  push: string;
  title: string | null;
  body: string | null;
}

/** A device on its own page. */
export interface DeviceDetails extends Device {
  pushes: PushOfDevice[];
}

export interface RemovedDevice {
  id: string;
  user: string | null;
  name: string | null;
  platform: Platform;
  token: string;
  error: string | null;
  failedAt: string;
  /** The id of the push that failed. */
  push: string;
}

/** The result of a send. */
export interface SendResult {
  id: string;
  status: PushStatus;
  devices: number;
  results: { ok: boolean; error?: string }[];
}

export type Behavior =
  | 'delivers'
  | 'offline'
  | 'notifications-off'
  | 'app-uninstalled'
  | 'invalid-token'
  | 'rate-limited';

/** A notification on a simulated device. */
export interface SimulatedNotification {
  id: string;
  /** `held`: until the device is online; `hidden`: the user does not see it. */
  state: 'shown' | 'held' | 'hidden';
  message: {
    title?: string;
    subtitle?: string;
    body?: string;
    image?: string;
    icon?: string;
    url?: string;
    channel?: string;
    /** Notifications with the same group form a thread. */
    group?: string;
    badge?: number;
  };
  at: string;
  tappedAt: string | null;
}

export interface SimulatedDevice {
  id: string;
  user: string;
  platform: Platform;
  name: string | null;
  behavior: Behavior;
  /** Newest first. */
  notifications: SimulatedNotification[];
}

export interface Simulator {
  devices: SimulatedDevice[];
  hasUsers: boolean;
}
