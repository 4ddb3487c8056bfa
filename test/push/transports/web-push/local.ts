import { afterAll } from 'vitest';
import { createWebPushTransport } from '../../../../src/push/transports/web-push/index.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';
import { startWebPushServer } from '../../../fakes/push/web-push-server.ts';
import { generateVapidKeys } from '../../../support/vapid-keys.ts';

/** A generated key pair. */
export const vapid = {
  ...generateVapidKeys(),
  subject: 'mailto:push@example.com',
};

/** The environment in which push services on this machine are allowed. */
export const rule = { allowPrivate: true, hosts: [] };

/** The transport with that key pair, and a push service on this machine until the test file ends. */
export async function webPushAndFake() {
  const fake = await startWebPushServer();
  // Nothing is redirected, because endpoints name the fake. Its certificate authority must be trusted.
  const undo = redirect({}, ca);
  const webPush = createWebPushTransport(vapid, { rule });
  afterAll(async () => {
    await webPush.close!();
    undo();
    await fake.close();
  });
  return { webPush, fake };
}
