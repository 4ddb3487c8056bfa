import type { Transaction } from './service.ts';

/** Sends push notifications. An app uses it as `app.push`. */
export interface PushSender {
  /**
   * Sends a push message and waits for its result. After `push.waitMs` milliseconds, and at once for more than 10,000 devices, returns a
   * result with the status `queued`. Delivery problems are reported in the result and never thrown.
   *
   * @throws ApiError VALIDATION_ERROR with a message per field
   */
  send(message: unknown): Promise<PushResult>;
  /** Stores a push message and returns its id, without waiting until the message is sent. */
  enqueue(message: unknown): Promise<{ id: string }>;
}

/** A sender that can also store pushes in transactions. */
export interface TransactionalPushSender extends PushSender {
  /** Stores a push in a transaction; it is sent after the commit. */
  enqueueWithin(tx: Pick<Transaction, 'database' | 'afterCommit'>, message: unknown): Promise<{ id: string }>;
}

/** The result of a send. */
export interface PushResult {
  id: string;
  /** `captured`: stored instead of sent, in development and tests. `queued`: not finished yet. */
  status: 'captured' | 'sent' | 'partial' | 'failed' | 'no-devices' | 'queued';
  /** With `queued` and a large audience: the number of devices found so far. */
  devices: number;
  results: { device: string | null; ok: boolean; id?: string; error?: string }[];
}

/** How a simulated device handles notifications. */
export const SIMULATED_BEHAVIORS = [
  'delivers',
  'offline',
  'notifications-off',
  'app-uninstalled',
  'invalid-token',
  'rate-limited',
] as const;

/** A behaviour of a simulated device. */
export type SimulatedBehavior = (typeof SIMULATED_BEHAVIORS)[number];

/** A notification on a simulated device. */
export interface SimulatedNotification {
  id: string;
  /** The id of the push. */
  push: string;
  /** `held`: the notification waits until the device is online. `hidden`: the notification arrived, but the user does not see it. */
  state: 'shown' | 'held' | 'hidden';
  /** The payload as passed to transports. */
  message: Record<string, unknown>;
  at: string;
  tappedAt: string | null;
}

/** A simulated phone or browser. */
export interface SimulatedDevice {
  id: string;
  user: string;
  platform: 'ios' | 'android' | 'web';
  name: string | null;
  behavior: SimulatedBehavior;
  createdAt: string;
  /** The newest 50 notifications, newest first. */
  notifications: SimulatedNotification[];
}

/** Simulated devices, for development. They receive pushes like other devices, but nothing leaves the machine. */
export interface SimulatedDevices {
  /**
   * Registers a simulated device for a user.
   *
   * @param device default: an `ios` device that delivers
   * @throws ApiError VALIDATION_ERROR
   */
  create(device: {
    user: string;
    platform?: SimulatedDevice['platform'];
    name?: string;
    behavior?: SimulatedBehavior;
  }): Promise<SimulatedDevice>;
  /** All simulated devices, newest first. Devices that their provider reported gone are removed, like other devices. */
  list(): Promise<SimulatedDevice[]>;
  /**
   * Changes how a simulated device handles notifications. Notifications held while the device was offline arrive unless their `ttl` has
   * expired.
   *
   * @throws ApiError NOT_FOUND, VALIDATION_ERROR
   */
  setBehavior(id: string, behavior: SimulatedBehavior): Promise<SimulatedDevice>;
  /** Taps a visible notification, which emits `push.opened`. Throws ApiError NOT_FOUND if no visible notification has this id. */
  tap(notificationId: string): Promise<void>;
  /** Removes a simulated device. Throws ApiError NOT_FOUND if it does not exist. */
  remove(id: string): Promise<void>;
}
