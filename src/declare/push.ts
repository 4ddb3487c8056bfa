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
