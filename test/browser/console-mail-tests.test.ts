import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { adminConsole, audit, defineMail, defineUser } from '../../src/index.ts';
import { refusal, startSmtpServer } from '../fakes/smtp-server.ts';
import { type Person, startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

/** The errors with which the mail server refuses e-mails, by recipient. */
const refusals = new Map<string, Error>();
const smtp = await startSmtpServer({
  onRcptTo: ({ address }, _session, done) => done(refusals.get(address)),
});
afterAll(() => smtp.close());

const PIXEL = '<p>News</p><img id="pixel" src="https://tracker.example.com/pixel.png" alt="">';
const options = {
  resources: [defineUser()],
  extensions: [audit(), adminConsole({ production: true })],
  mails: [
    defineMail('weekly-digest', {
      description: 'Every Monday',
      texts: { en: () => ({ subject: 'The week', text: 'News', html: PIXEL }) },
    }),
  ],
  settings: { rateLimit: { global: false, auth: false } },
} as const;
const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};
const { person, url } = await startTestApp(options, {
  roles: 'all',
  env: () => ({ ...PRODUCTION, SMTP_URL: smtp.url, MAIL_FROM: 'Belfry <bells@example.com>' }),
});
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const newAdmin = (name: string) => person(name, ['user', 'admin']);
/** Opens the e-mails as an administrator who has signed in. */
const openAs = ({ token }: Person, below = '', at = url) =>
  openConsole(browser, `${at}/console/mails${below}`, {
    prepare: (page) =>
      page.addInitScript(`if (window === top) sessionStorage.setItem('belfry.token', ${JSON.stringify(token)})`),
  });
const frameOf = (page: Page) => page.frameLocator('.mails-frame');

browserTest(
  'an administrator reads a template, sends it to themselves, and sees that it was sent',
  120_000,
  async () => {
    const admin = await newAdmin('Root');
    const { page, pageErrors } = await openAs(admin);
    await page.getByRole('heading', { level: 1, name: 'Weekly digest' }).waitFor();
    await page.getByText('Every Monday').waitFor();
    await page.getByRole('link', { name: 'Address verification' }).click();
    await frameOf(page).getByText('482913').waitFor();
    await page.getByRole('region', { name: 'Text of the e-mail' }).getByText('482913').waitFor();
    expect(await page.getByRole('link', { name: 'Captured' }).count()).toBe(0);
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('');
    expect(await page.locator('iframe').getAttribute('src')).not.toContain(admin.token);
    await page.getByRole('button', { name: 'Send a test to me' }).click();
    await page.getByText('Sent: the mail server has accepted the e-mail').waitFor();
    expect(smtp.mails.flatMap(({ to }) => to)).toEqual([admin.email]);
    await checkScreens(page, 'console-mail-test', [360, 390, 1280]);
    await page.getByRole('link', { name: 'Sign-in link' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign-in link' }).waitFor();
    expect(await page.getByText('Sent: the mail server').count()).toBe(0);
    // The image that the frame does not load.
    expect(pageErrors.filter((text) => !text.includes('tracker.example.com'))).toEqual([]);
  },
);

browserTest('the page says why the mail server refused a test', 60_000, async () => {
  const admin = await newAdmin('Refused');
  refusals.set(admin.email, refusal(550, 'No such box'));
  const { page } = await openAs(admin, '/texts/sign-in');
  await page.getByRole('button', { name: 'Send a test to me' }).click();
  await page.getByText('The mail server refused the sender or the recipient.').waitFor();
  await page.getByText('550 No such box').waitFor();
  await page.getByText('Not sent', { exact: true }).waitFor();
  await checkScreens(page, 'console-mail-refused', [390, 1280]);
});

browserTest('images of other servers are loaded only on request', 60_000, async () => {
  const { page } = await openAs(await newAdmin('Careful'), '/texts/weekly-digest');
  const asked: string[] = [];
  await page.route('https://tracker.example.com/**', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ status: 204 });
  });
  await frameOf(page).getByText('News').waitFor();
  await page.getByRole('button', { name: 'Dark' }).click();
  await page.locator('.mails-frame.dark').waitFor();
  await frameOf(page).getByText('News').waitFor();
  expect(asked).toEqual([]);
  await page.getByRole('button', { name: 'Images loaded' }).click();
  await expect.poll(() => asked).toEqual(['https://tracker.example.com/pixel.png']);
  await page.getByRole('link', { name: 'Sign-in link' }).click();
  await frameOf(page).getByText('482913').waitFor();
  expect(await page.getByRole('button', { name: 'Images loaded' }).count()).toBe(0);
});

browserTest('without a mail server, the page names the settings', 60_000, async () => {
  const without = await startTestApp(options, { roles: ['web'], env: () => PRODUCTION });
  const admin = await without.person('Root', ['user', 'admin']);
  const { page } = await openAs(admin, '/texts/sign-in', without.url);
  const note = page.getByRole('note');
  await note.getByText('No mail server is set.').waitFor();
  expect(await note.locator('code').allTextContents()).toEqual(['SMTP_URL', 'MAIL_FROM']);
  expect(await page.getByRole('button', { name: 'Send a test to me' }).count()).toBe(0);
  await checkScreens(page, 'console-mail-no-server', [390, 1280]);
});
