import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { isWellFormedToken } from '../../../extension/index.ts';

const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
// Logs redact tokens that begin with `svc_` in paths.
const TOKEN_PREFIX = 'svc_ex_';

/** The token and encryption of an export. Access to the database alone reveals neither the file nor the link. */
export interface ExportCipher {
  /** The last segment of the link. */
  token: string;
  /** Encrypts a chunk of the file with AES-256-GCM, bound to the export and to its position. */
  encrypt(data: Buffer, position: number): Buffer;
  /** Decrypts a chunk. Throws if it was altered or moved. */
  decrypt(data: Buffer, position: number): Buffer;
}

/** Creates the secret (32 bytes in base64) from which the key and the token of a new export are derived. */
export function generateExportSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64');
}

/** Whether a text has the form of a token. Invalid links are refused without a query. */
export function isExportToken(text: string | undefined): text is string {
  return text !== undefined && isWellFormedToken(text, TOKEN_PREFIX);
}

/** Derives the token and the encryption of an export from its secret. */
export function createExportCipher(exportId: string, secret: string): ExportCipher {
  // Derive a separate key for each purpose (RFC 5869).
  const deriveKey = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'base64'), exportId, `belfry export ${purpose}`, 32));
  const key = deriveKey('chunks');
  const additionalDataOf = (position: number) => Buffer.from(`${exportId}/${position}`);
  return {
    token: TOKEN_PREFIX + deriveKey('link').toString('hex'),
    encrypt(data, position) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
        additionalDataOf(position),
      );
      return Buffer.concat([iv, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(data, position) {
      const iv = data.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
        additionalDataOf(position),
      );
      decipher.setAuthTag(data.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    },
  };
}
