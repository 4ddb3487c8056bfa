import { DecryptionError, type Keyring } from '../../../../extension/index.ts';

/** A cursor is shorter than this. */
const MAX_LENGTH = 200;

// A cursor decrypts only with the context that it was encrypted for, so that of another endpoint is refused.
const cursorContext = (endpointId: string) => `webhooks/poll/cursor/${endpointId}`;

/** Creates the cursor of a delivery: an encrypted text, so that clients cannot depend on its content. @param number its `poll_number` */
export function encodeCursor(keyring: Keyring, endpointId: string, number: number): string {
  return keyring.encrypt(String(number), cursorContext(endpointId));
}

/** Returns the number in a cursor; undefined if this app has not created the cursor, or has created it for another endpoint. */
export function decodeCursor(keyring: Keyring, endpointId: string, cursor: string): number | undefined {
  if (cursor.length > MAX_LENGTH) return undefined;
  try {
    return Number(keyring.decrypt(cursor, cursorContext(endpointId)));
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}
