import type { KeyObject } from 'node:crypto';
import type { EncryptedColumn } from '../../../platform/crypto/encrypted-column.ts';
import type { Keyring } from '../../../platform/crypto/keyring.ts';
import { secretContext } from './endpoint.ts';
import { signingKeys } from './signing.ts';

/** The keys of an endpoint, from its stored secret. */
export type SigningKeys = (endpointId: string, storedSecret: string) => KeyObject[];

/** The columns that hold secrets of endpoints. */
export const encryptedSecrets: readonly EncryptedColumn[] = ['secret', 'previous_secret', 'older_secret'].map(
  (column) => ({ name: `webhook_endpoints.${column}`, table: 'webhook_endpoints', column, context: secretContext }),
);

const MOST = 10_000;

/** Keeps the keys that were used last: decrypting a secret and making a key of it takes longer than a signature. */
export function createSigningKeys(keyring: Keyring): SigningKeys {
  const keys = new Map<string, KeyObject[]>();
  return (endpointId, storedSecret) => {
    // By endpoint too: a ciphertext that was copied from another one must not be found here.
    const place = `${endpointId}/${storedSecret}`;
    const kept = keys.get(place);
    const found = kept ?? signingKeys(keyring.decrypt(storedSecret, secretContext(endpointId)));
    // Taken out and put in again, they become the youngest; the oldest are the first.
    keys.delete(place);
    keys.set(place, found);
    if (keys.size > MOST) keys.delete(keys.keys().next().value!);
    return found;
  };
}
