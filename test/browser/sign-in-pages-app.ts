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
  organisations,
  passkeys,
  signInPages,
  simulatedProvider,
  twoFactor,
} from '../../src/index.ts';
import type { App } from '../../src/runtime/create-app.ts';
import { type Person, startTestApp } from '../support/app.ts';
import { openMailbox, type ProofMail } from '../support/mailbox.ts';

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
        passkeys({ secondFactor: true }),
        emailVerification({
          ...verification,
          verifyUrl: `${origin}/auth/verify`,
          changeUrl: `${origin}/auth/change-email`,
          undoUrl: `${origin}/auth/undo-email-change`,
        }),
        emailSignIn({ url: `${origin}/auth/email` }),
        oidc({ providers: { simulated: simulatedProvider() } }),
        invitations({ url: `${origin}/auth/invitation` }),
        organisations({ invitations: { url: `${origin}/auth/organisation-invitation` } }),
        signInPages({ title: 'Acme', afterSignIn: '/welcome' }),
        welcome,
      ],
      settings: { auth: { resetUrl: `${origin}/auth/reset` } },
    },
    { env: () => ({ APP_URL: origin, PORT: String(port) }), roles: 'all', port },
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

export const waitForHeading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
export const readToken = (page: Page) => page.evaluate<string | null>(`localStorage.getItem('belfry.token')`);

/** Fills in the sign-in page and sends it. */
export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await press(page, 'Sign in');
}

/** Waits for an e-mail with a link to a page. */
export async function waitForMail(app: Pick<App, 'captured'>, address: string, path: string): Promise<ProofMail> {
  const mailbox = openMailbox(app, address);
  for (;;) {
    const mail = await mailbox.next();
    if (mail.text.includes(path)) return mail;
  }
}
