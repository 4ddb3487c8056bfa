import { generateKeyPairSync } from 'node:crypto';
import { afterAll } from 'vitest';
import { readApnsCredentials } from '../../../../src/push/transports/apns/credentials.ts';
import { createApnsTransport } from '../../../../src/push/transports/apns/index.ts';
import { startApnsServer } from '../../../fakes/push/apns-server.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Of the key below: what Apple checks the provider's tokens with. */
export const publicKey = pair.publicKey;

/** The environment with a key that nobody knows. */
export const VARIABLES = {
  APNS_KEY: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  APNS_KEY_ID: 'KEYID12345',
  APNS_TEAM_ID: 'TEAMID1234',
  APNS_TOPIC: 'com.example.app',
};

/** As the transport takes it. */
export const credentials = readApnsCredentials(VARIABLES, { production: true }, () => undefined)!;

/** The transport of that key, and the fake that it reaches until the test file ends. */
export async function apnsAndFake() {
  const fake = await startApnsServer();
  const undo = redirect({ 'api.push.apple.com': fake.address }, ca);
  const apns = createApnsTransport(credentials);
  afterAll(async () => {
    await apns.close!();
    undo();
    await fake.close();
  });
  return { apns, fake };
}
