import type { EncryptedColumn, Keyring } from '../../../extension/index.ts';
import { DELIVERY_TABLES } from './deliveries-sql.ts';

/** The body of a delivery, stored in one of two columns. A body that contains values of encrypted fields is encrypted as a whole. */
interface StoredBody {
  /** Empty if the body is encrypted. */
  body: string;
  encryptedBody: string | null;
}

const responseEncryptionContext = (deliveryId: string) => `webhook_deliveries/response/${deliveryId}`;
const bodyEncryptionContext = (deliveryId: string) => `webhook_deliveries/body/${deliveryId}`;

/**
 * The columns that hold encrypted bodies and responses of receivers. Values keep their encryption context when a delivery moves to the
 * log. A retry or a recovery moves it back.
 */
export const encryptedDeliveryColumns: EncryptedColumn[] = DELIVERY_TABLES.flatMap((table) => {
  const common = { table, receivesRows: table === 'webhook_deliveries' };
  return [
    { ...common, name: `${table}.encrypted_body`, column: 'encrypted_body', context: bodyEncryptionContext },
    {
      ...common,
      name: `${table}.encrypted_response`,
      column: 'encrypted_response',
      context: responseEncryptionContext,
    },
  ];
});

/** Encrypts the response to an encrypted body, because the response may repeat the body. */
export function encryptResponse(keyring: Keyring, deliveryId: string, response: string): string {
  return keyring.encrypt(response, responseEncryptionContext(deliveryId));
}

/**
 * Decrypts the response to an encrypted body.
 *
 * @throws DecryptionError if the encryption key is missing
 */
export function decryptResponse(keyring: Keyring, deliveryId: string, encrypted: string): string {
  return keyring.decrypt(encrypted, responseEncryptionContext(deliveryId));
}

/** Converts a body to its stored form. @param isEncrypted whether to encrypt the body, because it has values of encrypted fields */
export function toStoredBody(keyring: Keyring, deliveryId: string, body: string, isEncrypted: boolean): StoredBody {
  if (!isEncrypted) return { body, encryptedBody: null };
  return { body: '', encryptedBody: keyring.encrypt(body, bodyEncryptionContext(deliveryId)) };
}

/**
 * Returns a stored body exactly as it is sent, byte for byte.
 *
 * @throws DecryptionError if the body is encrypted with a missing key
 */
export function decryptStoredBody(keyring: Keyring, deliveryId: string, { body, encryptedBody }: StoredBody): string {
  return encryptedBody === null ? body : keyring.decrypt(encryptedBody, bodyEncryptionContext(deliveryId));
}
