import type { EncryptedColumn } from '../../../platform/crypto/encrypted-column.ts';
import type { Keyring } from '../../../platform/crypto/keyring.ts';

/** The body of a delivery as it is stored, in one of two columns. A body with values of encrypted fields is encrypted as a whole. */
export interface StoredBody {
  /** Empty when it is encrypted. */
  body: string;
  encryptedBody: string | null;
}

const responseContext = (deliveryId: string) => `webhook_deliveries/response/${deliveryId}`;
const bodyContext = (deliveryId: string) => `webhook_deliveries/body/${deliveryId}`;

/** The column that holds encrypted bodies. */
export const encryptedBodies: EncryptedColumn = {
  name: 'webhook_deliveries.encrypted_body',
  table: 'webhook_deliveries',
  column: 'encrypted_body',
  context: bodyContext,
};

/** The column that holds encrypted answers of receivers. */
export const encryptedResponses: EncryptedColumn = {
  name: 'webhook_deliveries.encrypted_response',
  table: 'webhook_deliveries',
  column: 'encrypted_response',
  context: responseContext,
};

/** Encrypts the answer of a receiver to an encrypted body, which it may repeat. */
export function encryptResponse(keyring: Keyring, deliveryId: string, response: string): string {
  return keyring.encrypt(response, responseContext(deliveryId));
}

/**
 * The answer to an encrypted body.
 *
 * @throws DecryptionError when its key is missing
 */
export function decryptResponse(keyring: Keyring, deliveryId: string, encrypted: string): string {
  return keyring.decrypt(encrypted, responseContext(deliveryId));
}

/** Puts a body into the form in which it is stored. */
export function storeBody(keyring: Keyring, deliveryId: string, body: string, isEncrypted: boolean): StoredBody {
  if (!isEncrypted) return { body, encryptedBody: null };
  return { body: '', encryptedBody: keyring.encrypt(body, bodyContext(deliveryId)) };
}

/**
 * The body that is sent, byte for byte.
 *
 * @throws DecryptionError when its key is missing
 */
export function readBody(keyring: Keyring, deliveryId: string, { body, encryptedBody }: StoredBody): string {
  return encryptedBody === null ? body : keyring.decrypt(encryptedBody, bodyContext(deliveryId));
}
