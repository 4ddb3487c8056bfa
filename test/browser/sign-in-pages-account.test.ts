// The ready-made page of the user's own account, in a real browser.
import { TOTP } from 'otpauth';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { openMailbox } from '../support/mailbox.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import {
  openPage,
  PASSWORD,
  press,
  readToken,
  signIn,
  startAppWithPages,
  useSession,
  waitForHeading,
  waitForMail,
} from './sign-in-pages-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const { app, origin, person, call, env } = await startAppWithPages();
const WELCOME = `${origin}/welcome`;

/** Opens a page of the app in a browser profile of its own. */
async function newTab(path: string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await openPage(page, origin + path);
  return page;
}

/** Makes every sign-in of a user too old for sensitive actions. */
async function makeSignInOld(userId: string): Promise<void> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL! });
  await client.connect();
  await client.query(`update sessions set authenticated_at = now() - interval '3 hours' where user_id = $1`, [userId]);
  await client.end();
}

browserTest(
  'a user signs in with a provider; another links a provider after consent, and removes it',
  90_000,
  async () => {
    const page = await newTab('/auth/sign-in');
    await press(page, 'Continue with Simulated provider');
    await page.getByRole('button', { name: /Grace Hopper/ }).click();
    await page.waitForURL(WELCOME);

    const eve = await person('Eve');
    await useSession(page, origin, eve);
    await openPage(page, `${origin}/auth/account`);
    await press(page, 'Link Simulated provider');
    await page.getByRole('button', { name: /Ada Lovelace/ }).click();
    await waitForHeading(page, 'Link this account?');
    expect(page.url()).toBe(`${origin}/auth/callback`);
    expect((await eve.call('GET', '/api/auth/identities')).body.data).toEqual([]);
    await press(page, 'Link account');
    await page.waitForURL(`${origin}/auth/account`);
    await press(page, 'Remove Simulated provider');
    await press(page, 'Remove');
    await page.getByRole('button', { name: 'Link Simulated provider' }).waitFor();
    expect((await eve.call('GET', '/api/auth/identities')).body.data).toEqual([]);
  },
);

browserTest('a user adds, renames and removes a passkey, and signs in with it', 90_000, async () => {
  const fay = await person('Fay');
  const page = await newTab('/auth/sign-in');
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await useSession(page, origin, fay);
  await openPage(page, `${origin}/auth/account`);
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Passkeys' }) });
  await section.getByText('Add a passkey').first().click();
  await section.getByLabel('Name').fill('Phone');
  await section.getByRole('button', { name: 'Add a passkey' }).click();
  await section.getByText('Phone', { exact: true }).waitFor();
  await section.getByText('Rename').click();
  await section.getByRole('textbox', { name: 'Name' }).first().fill('Tablet');
  await section.getByRole('button', { name: 'Save' }).click();
  await section.getByText('Tablet', { exact: true }).waitFor();

  await press(page, 'Sign out');
  await page.waitForURL(`${origin}/auth/sign-in`);
  await press(page, 'Sign in with a passkey');
  await page.waitForURL(WELCOME);
  expect(await readToken(page)).not.toBe(fay.token);

  // The browser offers the passkey in the e-mail field.
  await openPage(page, `${origin}/auth/sign-in`);
  await page.getByLabel('E-mail address').focus();
  await page.waitForURL(WELCOME);

  const login = await call('POST', '/api/auth/login', { email: fay.email, password: PASSWORD });
  await page.evaluate(`sessionStorage.setItem('belfry.challenge', ${JSON.stringify(JSON.stringify(login.body.data))})`);
  await openPage(page, `${origin}/auth/two-factor`);
  await press(page, 'Use passkey');
  await page.waitForURL(WELCOME);

  // A sign-in that is too old is confirmed with the passkey.
  await makeSignInOld(fay.id);
  await openPage(page, `${origin}/auth/account`);
  await press(page, 'Remove Tablet');
  await press(page, 'Remove');
  await press(page, 'Confirm with a passkey');
  await section.getByText('You have no passkey.').waitFor();
});

browserTest(
  'a user turns on two-factor login, signs in with a code and with a recovery code, and turns it off',
  120_000,
  async () => {
    const gus = await person('Gus');
    const page = await newTab('/auth/sign-in');
    await useSession(page, origin, gus);
    await openPage(page, `${origin}/auth/account`);
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Two-factor login' }) });
    await section.getByText('Turn on').first().click();
    await section.getByLabel('Password').fill(PASSWORD);
    await section.getByRole('button', { name: 'Turn on' }).click();
    await expect.poll(() => page.evaluate<number>(`document.querySelector('.qr')?.naturalWidth`)).toBeGreaterThan(20);
    const secret = (await section.locator('code').textContent())!;
    const totp = new TOTP({ secret });
    await section.getByLabel('Code').fill(totp.generate());
    await section.getByRole('button', { name: 'Turn on' }).click();
    await section.getByRole('heading', { name: 'Keep these recovery codes' }).waitFor();
    const [recoveryCode, otherCode] = await section.locator('.codes code').allTextContents();
    await press(page, 'I have kept them');
    await section.getByText('10 recovery codes are left').waitFor();

    await press(page, 'Sign out');
    await page.waitForURL(`${origin}/auth/sign-in`);
    await signIn(page, gus.email);
    await waitForHeading(page, 'Enter your code');
    await page.getByLabel('Code').fill('000000');
    await press(page, 'Sign in');
    await expect.poll(() => page.getByLabel('Code').getAttribute('aria-invalid')).toBe('true');
    // The code of this step has confirmed the enrolment, and works once.
    await page.getByLabel('Code').fill(totp.generate({ timestamp: Date.now() + 30_000 }));
    await press(page, 'Sign in');
    await page.waitForURL(WELCOME);

    await openPage(page, `${origin}/auth/sign-in?next=/auth/account`);
    await signIn(page, gus.email);
    await waitForHeading(page, 'Enter your code');
    await press(page, 'Use a recovery code');
    await page.getByLabel('Recovery code').fill(recoveryCode!);
    await press(page, 'Sign in');
    await page.waitForURL(`${origin}/auth/account`);
    await section.getByText('Turn off').first().click();
    const form = section.locator('form', { has: page.getByRole('button', { name: 'Turn off' }) });
    await form.getByLabel('Password').fill(PASSWORD);
    await form.getByLabel('Code').fill(otherCode!);
    await form.getByRole('button', { name: 'Turn off' }).click();
    await section.getByText('Off. With it').waitFor();
  },
);

browserTest(
  'a user changes the address after confirming the password, and the former address undoes it',
  90_000,
  async () => {
    const jo = await person('Jo');
    await app.service('user').update(jo.id, { emailVerifiedAt: new Date().toISOString() } as never);
    await makeSignInOld(jo.id);
    const page = await newTab('/auth/sign-in');
    await useSession(page, origin, jo);
    await openPage(page, `${origin}/auth/account`);
    await page.getByRole('link', { name: 'Change address' }).click();
    await page.getByLabel('New e-mail address').fill('jo.new@pages.example.com');
    await press(page, 'Send e-mail');
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Password').fill('wrong password');
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await expect.poll(() => dialog.getByLabel('Password').getAttribute('aria-invalid')).toBe('true');
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await waitForHeading(page, 'Check your e-mail');
    const { token } = await openMailbox(app, 'jo.new@pages.example.com').next();
    const link = await page.context().newPage();
    await openPage(link, `${origin}/auth/change-email#token=${token}`);
    await waitForHeading(link, 'Your address is changed');

    const undo = await waitForMail(app, jo.email, '/auth/undo-email-change');
    const stranger = await newTab(`/auth/undo-email-change#token=${undo.token}`);
    expect((await jo.call('GET', '/api/auth/me')).body.data.email).toBe('jo.new@pages.example.com');
    await press(stranger, 'Undo the change');
    await waitForHeading(stranger, 'The change is undone');
    expect((await jo.call('GET', '/api/auth/me')).status).toBe(401);
  },
);

browserTest('a user ends another session', 60_000, async () => {
  const max = await person('Max');
  await call(
    'POST',
    '/api/auth/login',
    { email: max.email, password: PASSWORD },
    { 'user-agent': 'Firefox/140 Linux' },
  );
  const page = await newTab('/auth/sign-in');
  await useSession(page, origin, max);
  await openPage(page, `${origin}/auth/account`);
  await page.getByRole('button', { name: /^End the session Firefox, Linux/ }).click();
  await expect.poll(async () => (await max.call('GET', '/api/auth/sessions')).body.data.length).toBe(1);
});

browserTest('a user changes the password, which ends other sessions, and keeps this one', 60_000, async () => {
  const ned = await person('Ned');
  const other = (await call('POST', '/api/auth/login', { email: ned.email, password: PASSWORD })).body.data.token;
  const page = await newTab('/auth/sign-in');
  await useSession(page, origin, ned);
  await openPage(page, `${origin}/auth/account`);
  await page.getByText('Change password').first().click();
  await page.getByLabel('Current password').fill('wrong password');
  await page.getByLabel('New password').fill('a bell rings at noon');
  await press(page, 'Change password');
  await expect.poll(() => page.getByLabel('Current password').getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('Current password').fill(PASSWORD);
  await press(page, 'Change password');
  await expect.poll(() => page.getByRole('status').textContent()).toContain('Your password is changed');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Password');
  expect((await call('GET', '/api/auth/me', undefined, { authorization: `Bearer ${other}` })).status).toBe(401);
  expect((await ned.call('GET', '/api/auth/me')).status).toBe(200);
});

browserTest('a user without a password sets one, after signing in again if the sign-in is old', 60_000, async () => {
  const email = 'pia@pages.example.com';
  const mailbox = openMailbox(app, email);
  const page = await newTab('/auth/email');
  const signInByEmail = async (): Promise<void> => {
    await page.getByLabel('E-mail address').fill(email);
    await press(page, 'Send e-mail');
    await waitForHeading(page, 'Check your e-mail');
    const { code } = await mailbox.next();
    await page.getByLabel('Code').fill(code);
    await press(page, 'Sign in');
  };
  await signInByEmail();
  await page.waitForURL(WELCOME);
  const authorization = `Bearer ${await readToken(page)}`;
  const { id } = (await call('GET', '/api/auth/me', undefined, { authorization })).body.data;
  await makeSignInOld(id);
  await openPage(page, `${origin}/auth/account`);
  await page.getByText('Set a password').first().click();
  await page.getByLabel('New password').fill('a bell rings at noon');
  await press(page, 'Set a password');
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  const again = dialog.getByRole('link', { name: 'Sign in again' });
  await again.waitFor();
  expect(await dialog.getByLabel('Password').count()).toBe(0);
  await again.click();
  await page.waitForURL(`${origin}/auth/sign-in?next=%2Fauth%2Faccount`);
  await press(page, 'E-mail me a sign-in link');
  await signInByEmail();
  await page.waitForURL(`${origin}/auth/account`);
  await page.getByText('Set a password').first().click();
  await page.getByLabel('New password').fill('a bell rings at noon');
  await press(page, 'Set a password');
  await expect.poll(() => page.getByRole('status').textContent()).toContain('Your password is changed');
});
