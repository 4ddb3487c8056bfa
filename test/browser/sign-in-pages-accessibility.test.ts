// Every sign-in page, wide and narrow, light and dark: axe-core finds nothing, and nothing overflows.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { openMailbox } from '../support/mailbox.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens } from './screens.ts';
import { openPage, PASSWORD, startAppWithPages } from './sign-in-pages-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const { app, origin, call } = await startAppWithPages({ required: true });

/** Checks what a page shows now, in all sizes and colours, and leaves it narrow. */
async function checkPage(page: Page, name: string): Promise<void> {
  await checkScreens(page, `sign-in-pages-${name}`, [360, 1280]);
  await page.setViewportSize({ width: 360, height: 740 });
}

/** The targets that people touch, apart from links in a text, with a height of less than 44 pixels. */
const smallTargets = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('button, summary, select, input:not([type=checkbox])')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)`);

/** Opens a page in a browser profile of its own. */
async function newTab(path: string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await openPage(page, origin + path);
  return page;
}

browserTest(
  'the pages of signed-out users have no accessibility violation and no overflow, light and dark, from 360 pixels',
  480_000,
  async () => {
    const refused: string[] = [];
    const page = await newTab('/auth/sign-in');
    page.on('console', (message) => {
      if (message.type() === 'error') refused.push(message.text());
    });
    for (const name of ['sign-in', 'register', 'forgot', 'email', 'callback']) {
      await openPage(page, `${origin}/auth/${name}`);
      await checkPage(page, name);
      expect(await smallTargets(page), name).toEqual([]);
    }
    for (const name of [
      'reset',
      'verify',
      'invitation',
      'organisation-invitation',
      'undo-email-change',
      'two-factor',
    ]) {
      const link = await newTab(`/auth/${name}#token=abc`);
      await checkPage(link, name);
      await link.context().close();
    }
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    const challenge = JSON.stringify({ mfaToken: 'abc', methods: ['totp', 'recovery'], expiresAt });
    const started = JSON.stringify({ signInToken: 'abc', email: 'a-rather-long-address@pages.example.com' });
    await page.evaluate(`sessionStorage.setItem('belfry.challenge', ${JSON.stringify(challenge)})`);
    await page.evaluate(`localStorage.setItem('belfry.emailSignIn', ${JSON.stringify(started)})`);
    await page.route('**/api/auth/invitations/preview', (route) =>
      route.fulfill({ json: { data: { email: 'ada@pages.example.com', hasAccount: false } } }),
    );
    const organisation = { name: 'A rather long name of an organisation & its friends', slug: 'acme' };
    await page.route('**/api/organisation-invitations/preview', (route) =>
      route.fulfill({ json: { data: { organisation, email: 'ada@pages.example.com', role: 'member', expiresAt } } }),
    );
    for (const name of ['two-factor', 'email', 'invitation#token=abc', 'organisation-invitation#token=abc']) {
      await openPage(page, `${origin}/auth/${name}`);
      await checkPage(page, `${name.split('#')[0]}-form`);
    }
    await openPage(page, `${origin}/auth/register`);
    await page.getByRole('button', { name: 'Create account' }).click();
    await checkPage(page, 'register-errors');
    // The policy of the pages refuses nothing that they load.
    expect(refused).toEqual([]);
  },
);

browserTest(
  'a registration that must be confirmed first ends with the code, and the pages of the account are accessible',
  240_000,
  async () => {
    const page = await newTab('/auth/register');
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('E-mail address').fill('ada@pages.example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Verify your e-mail address' }).waitFor();
    await checkPage(page, 'verify-code');
    await page.getByLabel('Code').fill((await openMailbox(app, 'ada@pages.example.com').next()).code);
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.waitForURL(`${origin}/welcome`);

    await openPage(page, `${origin}/auth/account`);
    await page.getByText('Turn on').first().click();
    await page.getByText('Change password').first().click();
    await checkPage(page, 'account');
    expect(await smallTargets(page)).toEqual([]);
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Two-factor login' }) });
    await section.getByLabel('Password').fill(PASSWORD);
    await section.getByRole('button', { name: 'Turn on' }).click();
    await section.getByAltText('QR code').waitFor();
    await checkPage(page, 'account-two-factor');

    await openPage(page, `${origin}/auth/change-email`);
    await checkPage(page, 'change-email');
    await page.getByLabel('New e-mail address').fill('ada.new@pages.example.com');
    await page.route('**/api/auth/email', (route) =>
      route.fulfill({ status: 403, json: { error: { code: 'RECENT_SIGN_IN_REQUIRED', message: 'Sign in again' } } }),
    );
    await page.getByRole('button', { name: 'Send e-mail' }).click();
    await page.getByRole('dialog').waitFor();
    await checkPage(page, 'confirm-dialog');
  },
);

browserTest('a login whose address must be confirmed finishes with the link in a new tab', 60_000, async () => {
  const email = 'bob@pages.example.com';
  await call('POST', '/api/auth/register', { name: 'Bob', email, password: PASSWORD });
  const mailbox = openMailbox(app, email);
  await mailbox.next();
  const page = await newTab('/auth/sign-in?next=/welcome?again');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Verify your e-mail address' }).waitFor();
  const { token } = await mailbox.next();
  const link = await page.context().newPage();
  await link.goto(`${origin}/auth/verify#token=${token}`);
  await link.waitForURL(`${origin}/welcome`);
  expect(await link.evaluate(`localStorage.getItem('belfry.verificationToken')`)).toBeNull();
});

browserTest('a new view of a page moves the focus to its heading, and changes the title', 60_000, async () => {
  const page = await newTab('/auth/forgot');
  expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');
  await page.getByLabel('E-mail address').fill('nobody@pages.example.com');
  await page.getByRole('button', { name: 'Send link' }).click();
  await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Check your e-mail');
  expect(await page.title()).toBe('Check your e-mail · Acme');
});

browserTest('a browser without passkeys is offered the other ways to sign in', 60_000, async () => {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.addInitScript('delete window.PublicKeyCredential');
  await openPage(page, `${origin}/auth/sign-in`);
  await page.getByLabel('Password').waitFor();
  await page.getByRole('button', { name: 'E-mail me a sign-in link', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Continue with Simulated provider', exact: true }).waitFor();
  expect(await page.locator('.ways').getByRole('button').count()).toBe(2);
});
