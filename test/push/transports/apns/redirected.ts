import { generateKeyPairSync } from 'node:crypto';
import { afterAll } from 'vitest';
import { readApnsCredentials } from '../../../../src/push/transports/apns/credentials.ts';
import { createApnsTransport } from '../../../../src/push/transports/apns/index.ts';
import { startApnsServer } from '../../../fakes/push/apns-server.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Belongs to the key below; Apple verifies the provider’s tokens with it. */
export const publicKey = pair.publicKey;

/** The environment with a generated key. */
export const VARIABLES = {
  APNS_KEY: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  APNS_KEY_ID: 'KEYID12345',
  APNS_TEAM_ID: 'TEAMID1234',
  APNS_TOPIC: 'com.example.app',
};

/** The credentials in the form that the transport accepts. */
export const credentials = readApnsCredentials(VARIABLES, { production: true }, () => undefined)!;

/** The transport with that key, and the fake that it connects to until the test file ends. */
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
