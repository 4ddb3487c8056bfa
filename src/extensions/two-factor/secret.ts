import type { EncryptedColumn } from '../../platform/crypto/encrypted-column.ts';

/** What the secret of a user is bound to, so that a ciphertext copied to another user does not decrypt there. */
export function secretContext(userId: string): string {
  return `two_factors/secret/${userId}`;
}

/** The columns that hold secrets of users. */
export const encryptedSecrets: readonly EncryptedColumn[] = [
  { name: 'two_factors.secret', table: 'two_factors', column: 'secret', key: 'user_id', context: secretContext },
];
