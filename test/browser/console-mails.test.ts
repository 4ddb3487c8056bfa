import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, defineUser } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';
import { openConsole, pressTabUntil } from './console-app.ts';
import { checkScreens } from './screens.ts';

const HOSTILE = `<p id="p">Hallo</p><script>document.getElementById('p').textContent = 'hacked'</script>
  <img src="x" onerror="document.getElementById('p').textContent = 'hacked'">
  <form action="/console/api/push/sends" method="post"><button>Senden</button></form>
  <a href="https://elsewhere.example.com/" target="_top">Weg von hier</a>`;

const { app, url } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [adminConsole()],
    mailTexts: {
      'verify-email': { de: () => ({ subject: 'Adresse bestätigen', text: 'Hallo', html: HOSTILE }) },
      'sign-in': {
        fr: () => {
          throw new Error('no French yet');
        },
      },
    },
  },
  { roles: 'all' },
);
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const openMails = (below = '') => openConsole(browser, `${url}/console/mails${below}`);
const frameOf = (page: Page) => page.frameLocator('.mails-frame');
const templates = (page: Page) => page.getByRole('navigation', { name: 'Templates' });
const linkTo = (page: Page, name: string) => templates(page).getByRole('link', { name, exact: true });
const untilSubject = (page: Page, subject: string) =>
  expect.poll(() => page.locator('.mails-subject').textContent(), { timeout: 60_000 }).toBe(subject);

browserTest(
  'every e-mail of the app can be selected, and is shown as subject, HTML, text and source; the back button returns to the previous one',
  120_000,
  async () => {
    const { page, pageErrors } = await openMails();
    await untilSubject(page, 'Verify your e-mail address');
    const kinds = await templates(page).getByRole('link').allTextContents();
    expect(kinds.length).toBeGreaterThan(15);
    for (const kind of kinds.map((text) => text.trim())) {
      await linkTo(page, kind).click();
      await page.getByRole('heading', { level: 1, name: kind, exact: true }).waitFor();
      await frameOf(page).locator('p').first().waitFor();
      expect(await linkTo(page, kind).getAttribute('aria-current')).toBe('true');
      expect(await templates(page).locator('[aria-current]').count()).toBe(1);
      expect(await page.locator('.mails-subject').textContent()).not.toBe('');
    }
    await linkTo(page, 'New device').click();
    await untilSubject(page, 'New sign-in to your account');
    await frameOf(page).getByText('with Firefox on Windows').waitFor();
    await page.getByRole('region', { name: 'Text of the e-mail' }).getByText('with Firefox on Windows').waitFor();
    await linkTo(page, 'Password reset').click();
    await untilSubject(page, 'Choose a new password');
    await page.getByRole('region', { name: 'Text of the e-mail' }).getByText('https://').waitFor();
    await page.getByRole('button', { name: 'Source' }).click();
    await page.getByRole('region', { name: 'Source of the HTML' }).getByText('<div lang=').waitFor();
    await page.reload();
    await page.getByRole('region', { name: 'Source of the HTML' }).waitFor();
    await page.goBack();
    await untilSubject(page, 'New sign-in to your account');
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'an e-mail in another locale is shown, none of its scripts, forms and links work in the frame, and its links are listed',
  60_000,
  async () => {
    const { page } = await openMails('/texts/verify-email');
    await untilSubject(page, 'Verify your e-mail address');
    await page.locator('.mails-locale select').selectOption('de');
    await untilSubject(page, 'Adresse bestätigen');
    expect(page.url()).toBe(`${url}/console/mails/texts/verify-email?locale=de`);
    await frameOf(page).getByText('Hallo').waitFor();
    await frameOf(page).getByRole('button', { name: 'Senden' }).click();
    await frameOf(page).getByRole('link', { name: 'Weg von hier' }).click();
    const link = page.getByRole('region', { name: 'Links' }).getByRole('link');
    expect(await link.getAttribute('href')).toBe('https://elsewhere.example.com/');
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    await linkTo(page, 'Sign-in link').click();
    await untilSubject(page, 'Sign in');
    await page.goBack();
    await untilSubject(page, 'Adresse bestätigen');
    expect(await frameOf(page).locator('#p').textContent()).toBe('Hallo');
  },
);

browserTest(
  'an e-mail is shown at the width of a phone, and in the dark colours of mail programs',
  60_000,
  async () => {
    const { page, pageErrors } = await openMails('/texts/new-device');
    await frameOf(page).getByText('with Firefox on Windows').waitFor();
    const frame = page.locator('.mails-frame');
    const desktop = (await frame.boundingBox())!.width;
    await page.getByRole('button', { name: 'Phone' }).click();
    await expect.poll(async () => (await frame.boundingBox())!.width).toBe(375);
    expect(desktop).toBeGreaterThan(600);
    const colour = () => frameOf(page).locator('body').evaluate('getComputedStyle(document.body).color');
    expect(await colour()).toBe('rgb(0, 0, 0)');
    await page.getByRole('button', { name: 'Dark' }).click();
    await frameOf(page).getByText('with Firefox on Windows').waitFor();
    await expect.poll(colour).toBe('rgb(255, 255, 255)');
    expect(page.url()).toContain('width=phone&scheme=dark');
    await keepScreenshot(page, 'console-mails-phone-dark');
    expect(pageErrors).toEqual([]);
  },
);

browserTest('the page shows why a text does not work, and shows the next one without the error', 60_000, async () => {
  const { page } = await openMails('/texts/sign-in?locale=fr');
  await page.getByRole('alert').getByText('The text of sign-in in fr threw Error: no French yet').waitFor();
  expect(await page.locator('.mails-preview').count()).toBe(0);
  await page.locator('.mails-locale select').selectOption('en');
  await untilSubject(page, 'Sign in');
  expect(await page.getByRole('alert').count()).toBe(0);
});

browserTest('captured e-mails appear without a reload, and are found by their recipient', 60_000, async () => {
  const { page, pageErrors } = await openMails('/captured');
  await page.getByText('No e-mail has been captured yet').waitFor();
  await app.mail.send({ to: 'ben@example.com', subject: 'To Ben', text: 'Hi' });
  await app.mail.send({
    to: 'ann@example.com',
    subject: 'Good <b>day</b>',
    text: 'How are you? https://example.com/1',
  });
  await page.getByRole('link', { name: 'Good <b>day</b>' }).waitFor();
  await page.getByRole('link', { name: 'To Ben' }).waitFor();
  await page.getByLabel('Recipient').fill('ANN@');
  await page.getByRole('link', { name: 'To Ben' }).waitFor({ state: 'detached' });
  expect(page.url()).toContain('recipient=ANN');
  await page.getByRole('link', { name: 'Good <b>day</b>' }).click();
  await untilSubject(page, 'Good <b>day</b>');
  await page.getByText('To ann@example.com').waitFor();
  expect(await page.locator('.mails-locale').count()).toBe(0);
  await frameOf(page).getByText('How are you?').waitFor();
  await page.getByRole('link', { name: 'https://example.com/1' }).waitFor();
  await page.goBack();
  expect(await page.getByLabel('Recipient').inputValue()).toBe('ANN@');
  expect(pageErrors).toEqual([]);
});

browserTest('the tabs of the console link to each other', 60_000, async () => {
  const { page } = await openMails();
  const tabs = page.getByRole('navigation', { name: 'Console' });
  await tabs.getByRole('link', { name: 'Push' }).click();
  await page.getByRole('heading', { level: 1, name: 'Push' }).waitFor();
  expect(await tabs.locator('[aria-current="page"]').allTextContents()).toEqual(['Push']);
  await tabs.getByRole('link', { name: 'E-mails' }).click();
  await page.locator('.mails-subject').waitFor();
  await tabs.getByRole('link', { name: 'Data' }).click();
  await page.getByRole('heading', { level: 1, name: 'This app declares no resources yet' }).waitFor();
  await tabs.getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
});

browserTest(
  'the pages fit every screen, and every text is readable and every control has a visible focus, in light and in dark mode',
  180_000,
  async () => {
    await app.mail.send({ to: `${'long'.repeat(15)}@example.com`, subject: 'Wide'.repeat(60), text: 'W'.repeat(500) });
    for (let i = 0; i < 20; i++)
      await app.mail.send({ to: `person.${i}@example.com`, subject: `Your order no. ${1000 + i}`, text: 'Thank you.' });
    const { page, pageErrors } = await openMails('/captured');
    await page.getByRole('link', { name: 'WideWide' }).waitFor();
    await page.getByRole('link', { name: 'Your order no. 1019' }).waitFor();
    await checkScreens(page, 'console-mails-captured', [360, 1280]);
    await page.getByRole('link', { name: 'WideWide' }).click();
    await frameOf(page).locator('p').first().waitFor();
    await checkScreens(page, 'console-mails-long', [360, 1280]);
    await page.goto(`${url}/console/mails/texts/new-device`);
    await frameOf(page).locator('p').first().waitFor();
    await checkScreens(page, 'console-mails-template');
    const seen = await pressTabUntil(page, `document.activeElement.textContent.trim() === 'Dark'`);
    expect(new Set(seen.map(({ tag }) => tag))).toEqual(new Set(['A', 'SELECT', 'BUTTON']));
    expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
    expect(pageErrors).toEqual([]);
  },
);
