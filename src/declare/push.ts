import type { Transaction } from './transaction.ts';

/** `app.push`. */
export interface PushSender {
  /**
   * Sends a push message and waits for its result. After `push.waitMs`, and at once for more than 10,000 devices, it gives the
   * status `queued`. Delivery problems are told in the result and never thrown.
   *
   * @throws ApiError VALIDATION_ERROR with a message per field
   */
  send(message: unknown): Promise<PushResult>;
  /** Stores a push message to be sent and does not wait. */
  enqueue(message: unknown): Promise<{ id: string }>;
}

/** A sender that stores pushes in transactions, too. */
export interface TransactionalPushSender extends PushSender {
  /** Stores a push in a transaction; it is sent once that is committed. */
  enqueueWithin(tx: Pick<Transaction, 'database' | 'afterCommit'>, message: unknown): Promise<{ id: string }>;
}

/** The result of a send. */
export interface PushResult {
  id: string;
  status: 'captured' | 'sent' | 'partial' | 'failed' | 'no-devices' | 'queued';
  /** With `queued` and a large audience: those that are found so far. */
  devices: number;
  results: { device: string | null; ok: boolean; id?: string; error?: string }[];
}

/** How a simulated device takes notifications. */
export const SIMULATED_BEHAVIORS = [
  'delivers',
  'offline',
  'notifications-off',
  'app-uninstalled',
  'invalid-token',
  'rate-limited',
] as const;

/** One of them. */
export type SimulatedBehavior = (typeof SIMULATED_BEHAVIORS)[number];

/** A notification on a simulated device. */
export interface SimulatedNotification {
  id: string;
  /** Of the push. */
  push: string;
  /** `held`: until the device is brought online; `hidden`: it arrived, and its user sees nothing. */
  state: 'shown' | 'held' | 'hidden';
  /** As transports get it. */
  message: Record<string, unknown>;
  at: string;
  tappedAt: string | null;
}

/** A phone or browser that is not there. */
export interface SimulatedDevice {
  id: string;
  user: string;
  platform: 'ios' | 'android' | 'web';
  name: string | null;
  behavior: SimulatedBehavior;
  createdAt: string;
  /** The newest 50, newest first. */
  notifications: SimulatedNotification[];
}

/** Simulated devices: they are sent to like others, and nothing leaves the machine. For development. */
export interface SimulatedDevices {
  /**
   * Registers one for a user.
   *
   * @param device by default it is an `ios` one that delivers
   * @throws ApiError VALIDATION_ERROR
   */
  create(device: {
    user: string;
    platform?: SimulatedDevice['platform'];
    name?: string;
    behavior?: SimulatedBehavior;
  }): Promise<SimulatedDevice>;
  /** All of them, newest first. Those whose provider reported them gone are removed, like other devices. */
  list(): Promise<SimulatedDevice[]>;
  /**
   * Changes how it takes notifications. What it held while it was offline arrives, unless its `ttl` ran out.
   *
   * @throws ApiError NOT_FOUND, VALIDATION_ERROR
   */
  setBehavior(id: string, behavior: SimulatedBehavior): Promise<SimulatedDevice>;
  /** Taps a notification that is shown: `push.opened`. Throws ApiError NOT_FOUND when there is none. */
  tap(notificationId: string): Promise<void>;
  /** Throws ApiError NOT_FOUND. */
  remove(id: string): Promise<void>;
}
