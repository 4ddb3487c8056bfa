import { createECDH, generateKeyPairSync } from 'node:crypto';

const pem = { type: 'pkcs8', format: 'pem' } as const;

/** Returns the environment of a push-worker: credentials of all providers, with new random keys. */
export function createPushCredentials(): Record<string, string> {
  const account = {
    type: 'service_account',
    project_id: 'bench',
    client_email: 'push@bench.iam.gserviceaccount.com',
    private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem),
  };
  const vapid = createECDH('prime256v1');
  vapid.generateKeys();
  return {
    FCM_SERVICE_ACCOUNT: JSON.stringify(account),
    APNS_KEY: String(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem)),
    APNS_KEY_ID: 'KEYID12345',
    APNS_TEAM_ID: 'TEAMID1234',
    APNS_TOPIC: 'com.example.app',
    APNS_PRODUCTION: 'true',
    VAPID_PUBLIC_KEY: vapid.getPublicKey().toString('base64url'),
    VAPID_PRIVATE_KEY: Buffer.concat([Buffer.alloc(32), vapid.getPrivateKey()])
      .subarray(-32)
      .toString('base64url'),
    VAPID_SUBJECT: 'mailto:push@example.com',
  };
}
