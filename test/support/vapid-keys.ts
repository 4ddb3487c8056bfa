import { createECDH } from 'node:crypto';

/** A pair of VAPID keys that nobody knows, as `web-push generate-vapid-keys` gives one. */
export function newVapidKeys(): { publicKey: string; privateKey: string } {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // One in 256 private keys begins with a zero, which Node leaves out.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32);
  return { publicKey: pair.getPublicKey('base64url' as 'hex'), privateKey: privateKey.toString('base64url') };
}
