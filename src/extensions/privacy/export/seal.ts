import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const TOKEN = /^svc_ex_[0-9a-f]{64}$/;

/** What an export is stored and fetched with: whoever reads the database alone gets neither the file nor the link. */
export interface Seal {
  /** The last part of the link. */
  token: string;
  /** Encrypts a chunk of the file: AES-256-GCM, bound to the export and its place in it. */
  close(data: Buffer, position: number): Buffer;
  /** What `close` was given. Throws for anything that was altered or moved. */
  open(data: Buffer, position: number): Buffer;
}

/** A new secret to make a seal of. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64');
}

/** Whether a text has the form of a token, so that junk is refused without a query. */
export function isToken(text: string | undefined): text is string {
  return text !== undefined && TOKEN.test(text);
}

/** The seal of an export. */
export function createSeal(exportId: string, secret: string): Seal {
  // One key, one purpose (RFC 5869).
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'base64'), exportId, `belfry export ${purpose}`, 32));
  const key = derive('chunks');
  const place = (position: number) => Buffer.from(`${exportId}/${position}`);
  return {
    // Begins like every token of this service: logs leave it out of paths.
    token: `svc_ex_${derive('link').toString('hex')}`,
    close(data, position) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(place(position));
      return Buffer.concat([iv, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
    },
    open(data, position) {
      const iv = data.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(place(position));
      decipher.setAuthTag(data.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    },
  };
}
