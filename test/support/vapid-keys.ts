import { createECDH } from 'node:crypto';

/** Generates a VAPID key pair in the format of `web-push generate-vapid-keys`. */
export function generateVapidKeys(): { publicKey: string; privateKey: string } {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // One in 256 private keys begins with a zero byte, which Node omits.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32);
  return { publicKey: pair.getPublicKey('base64url' as 'hex'), privateKey: privateKey.toString('base64url') };
}
