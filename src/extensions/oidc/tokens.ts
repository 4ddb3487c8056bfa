import { hash } from 'node:crypto';
import type { EncryptedColumn, Executor, Host, Identity } from '../../extension/index.ts';
import type { ProviderTokens } from './provider/client.ts';
import { SELECT_TOKENS, UPSERT_TOKENS } from './sql.ts';

/** Returns the additional data of the encrypted content of a code. A ciphertext copied to another row does not decrypt there. */
export const codeEncryptionContext = (codeHash: string) => `oidc_codes/content/${codeHash}`;

const tokensEncryptionContext = (id: string) => `oidc_tokens/tokens/${id}`;

/** The encrypted columns of this extension, for the rotation of encryption keys. */
export const encryptedOidcColumns: readonly EncryptedColumn[] = [
  {
    name: 'oidc_tokens.tokens',
    table: 'oidc_tokens',
    column: 'tokens',
    context: tokensEncryptionContext,
  },
  {
    name: 'oidc_codes.content',
    table: 'oidc_codes',
    column: 'content',
    key: 'code_hash',
    context: codeEncryptionContext,
  },
];

/** The API of the extension for code, as `app.oidc`. */
export interface OidcApi {
  /**
   * Returns the tokens that a provider issued when the user last signed in with it. They may have expired; they are not refreshed.
   *
   * @param provider the key in the setting `providers`
   * @returns undefined if none are stored, or if the user has removed the identity
   */
  findTokens(userId: string, provider: string): Promise<ProviderTokens | undefined>;
}

/** Creates the API of the extension. */
export function createOidcApi({ database, keyring }: Pick<Host, 'database' | 'keyring'>): OidcApi {
  return {
    async findTokens(userId, provider) {
      const statement = { text: SELECT_TOKENS, values: [userId, provider] };
      const [row] = await database.read<[id: string, tokens: string]>(statement);
      return row && JSON.parse(keyring.decrypt(row[1], tokensEncryptionContext(row[0])));
    },
  };
}

/** Stores the tokens of an identity in place of earlier ones. The caller must hold the lock on the user's row. */
export async function storeTokens(
  { keyring }: Pick<Host, 'keyring'>,
  userId: string,
  { provider, subject }: Identity,
  tokens: ProviderTokens,
  on: Executor,
): Promise<void> {
  const id = hash('sha256', JSON.stringify([userId, provider, subject]));
  const content = keyring.encrypt(JSON.stringify(tokens), tokensEncryptionContext(id));
  await on.write({ text: UPSERT_TOKENS, values: [id, userId, provider, subject, content] });
}
