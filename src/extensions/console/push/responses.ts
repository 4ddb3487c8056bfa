// What the routes of the tab respond with.
import type { RegisteredDevice } from '../../../accounts/devices/responses.ts';
import type {
  DeviceHistory,
  Platform,
  PushChunk,
  PushDetails,
  PushOfDevice,
  PushStatus,
} from '../../../push/history/responses.ts';

export type { RegisteredDevice } from '../../../accounts/devices/responses.ts';
export type {
  Platform,
  PushChunk,
  PushCounts,
  PushStatus,
  PushSummary,
  RemovedDevice,
  TimelineEntry,
} from '../../../push/history/responses.ts';

/** The result of a push on a device. `isRegistered`: null for a raw token. */
export type DeviceResult = DeviceHistory & { isRegistered: boolean | null };

/** The first recipients, and the number of all. */
export interface Recipients {
  ids: string[];
  total: number;
}

/** A push on its own page, with one page of its devices. */
export interface ShownPush extends PushDetails {
  audience: { users: Recipients; devices: Recipients };
  devices: DeviceResult[];
  chunks: PushChunk[];
}

/** The result of a push on the device whose page shows it. */
export type ResultOnDevice = PushOfDevice & DeviceResult;

/** A device on its own page. */
export interface DeviceDetails extends RegisteredDevice {
  pushes: ResultOnDevice[];
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

/** What a simulated device shows of a message. */
export interface SimulatedMessage {
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
}

/** A notification on a simulated device. */
export interface SimulatedNotification {
  id: string;
  /** `held`: until the device is online; `hidden`: the user does not see it. */
  state: 'shown' | 'held' | 'hidden';
  message: SimulatedMessage;
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
  /** Oldest first, so that devices keep their position. */
  devices: SimulatedDevice[];
  hasUsers: boolean;
}
