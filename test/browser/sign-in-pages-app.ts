import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Page } from 'playwright-core';
import {
  defineExtension,
  defineUser,
  emailSignIn,
  emailVerification,
  f,
  invitations,
  oidc,
  passkeys,
  signInPages,
  simulatedProvider,
  twoFactor,
} from '../../src/index.ts';
import { type Person, startTestApp } from '../support/app.ts';

/** The password of the users that `person` of the app registers. */
export const PASSWORD = 'correct horse battery';

/** Returns a port that is free now: the address of the app must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The page of the app that follows a sign-in. */
const welcome = defineExtension({
  name: 'welcome',
  setup: () => ({
    pages: [
      {
        method: 'GET',
        path: '/welcome',
        policy: 'public',
        handler: ({ res }) => void res.type('html').end('<!doctype html><title>Welcome</title><h1>Welcome</h1>'),
      },
    ],
  }),
});

/** Starts an app with every extension that has pages, whose links lead to the pages. */
export async function startAppWithPages(verification: { required?: boolean } = {}) {
  const port = await findFreePort();
  const origin = `http://localhost:${port}`;
  const started = await startTestApp(
    {
      resources: [defineUser({ fields: { plan: f.enum(['free', 'paid']).required().default('free') } })],
      extensions: [
        twoFactor(),
        passkeys(),
        emailVerification({
          ...verification,
          verifyUrl: `${origin}/auth/verify`,
          changeUrl: `${origin}/auth/change-email`,
          undoUrl: `${origin}/auth/undo-email-change`,
        }),
        emailSignIn({ url: `${origin}/auth/email` }),
        oidc({ providers: { simulated: simulatedProvider() } }),
        invitations({ url: `${origin}/auth/invitation` }),
        signInPages({ title: 'Acme', afterSignIn: '/welcome' }),
        welcome,
      ],
      settings: { auth: { resetUrl: `${origin}/auth/reset` } },
    },
    { env: () => ({ APP_URL: origin, PORT: String(port) }), start: { port } },
  );
  return { ...started, origin };
}

/** Opens a page of the sign-in pages, and waits until it is complete. */
export async function openPage(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.locator('body[data-ready]').waitFor();
}

/** Signs a user in, in the browser of a page, without the sign-in page. */
export async function useSession(page: Page, origin: string, { token }: Pick<Person, 'token'>): Promise<void> {
  await page.goto(`${origin}/welcome`);
  await page.evaluate(`localStorage.setItem('belfry.token', ${JSON.stringify(token)})`);
}
