import { generateKeyPairSync } from 'node:crypto';
import { afterAll } from 'vitest';
import { createFcmTransport } from '../../../../src/push/transports/fcm/index.ts';
import { readServiceAccount } from '../../../../src/push/transports/fcm/service-account.ts';
import { startFcmServer } from '../../../fakes/push/fcm-server.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** A service account as exported by the Firebase console, with a generated key. */
export const SERVICE_ACCOUNT = {
  type: 'service_account',
  project_id: 'demo',
  client_email: 'push@demo.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
};

/** The credentials in the form that the transport accepts. */
export const account = readServiceAccount(JSON.stringify(SERVICE_ACCOUNT), () => undefined)!;

/** The transport with that account, and the fake that it connects to until the test file ends. */
export async function fcmAndFake() {
  const fake = await startFcmServer();
  const undo = redirect({ 'fcm.googleapis.com': fake.address, 'oauth2.googleapis.com': fake.address }, ca);
  const fcm = createFcmTransport(account);
  afterAll(async () => {
    await fcm.close!();
    undo();
    await fake.close();
  });
  return { fcm, fake };
}
