import { randomBytes } from 'node:crypto';

/** A new `webhook-id`: `msg_` and 32 random hex digits. */
export function newMessageId(): string {
  return `msg_${randomBytes(16).toString('hex')}`;
}
