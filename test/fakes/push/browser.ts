import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';

/** A subscribed browser: what its page sends to the server, and how it handles messages from a push service. */
export interface Browser {
  /** The token of the device: the JSON of a PushSubscription. */
  token(endpoint: string): string;
  /** Decrypts a body (RFC 8188, aes128gcm; RFC 8291). Throws if it cannot; a browser would drop such a message. */
  decrypt(body: Buffer): string;
}

const derive = (salt: Buffer, secret: Buffer, info: string | Buffer, length: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** Creates a browser with its own keys. */
export function createBrowser(): Browser {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys();
  const auth = randomBytes(16);
  return {
    token: (endpoint) =>
      JSON.stringify({
        endpoint,
        expirationTime: null,
        keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') },
      }),
    decrypt(body) {
      const salt = body.subarray(0, 16);
      const recordSize = body.readUInt32BE(16);
      const keyEnd = 21 + body[20]!;
      const sender = body.subarray(21, keyEnd);
      const record = body.subarray(keyEnd);
      if (record.length > recordSize) throw new Error('RFC 8291, section 4: one record only');
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender]);
      const secret = derive(auth, pair.computeSecret(sender), info, 32);
      const key = derive(salt, secret, 'Content-Encoding: aes128gcm\0', 16);
      const nonce = derive(salt, secret, 'Content-Encoding: nonce\0', 12);
      const decipher = createDecipheriv('aes-128-gcm', key, nonce);
      decipher.setAuthTag(record.subarray(-16));
      const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
      const end = padded.lastIndexOf(2);
      if (end < 0 || padded.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('RFC 8188: wrong delimiter');
      return padded.subarray(0, end).toString('utf8');
    },
  };
}

/** The claims of an `Authorization` header (RFC 8292) and the key that signed it. Throws if it is not valid for the origin. */
export function checkVapid(authorization: string | undefined, origin: string): { sub: string; publicKey: string } {
  const [, head, claims, signature, publicKey] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)$/.exec(authorization ?? '') ?? [];
  if (publicKey === undefined) throw new Error('no VAPID');
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
  const key = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
  const signed = Buffer.from(`${head}.${claims}`);
  const good = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature!, 'base64url'));
  if (!good) throw new Error('wrong signature');
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims!, 'base64url').toString());
  const left = exp - Date.now() / 1000;
  if (aud !== origin || left <= 0 || left > 86_400) throw new Error(`not for this origin and day: ${aud}, ${exp}`);
  return { sub, publicKey };
}
