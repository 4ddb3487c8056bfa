import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { defineUser, developerConsole } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';
import { expectReadable } from './readable.ts';

const HOSTILE = `<p id="p">Hallo</p><script>document.getElementById('p').textContent = 'hacked'</script>
  <img src="x" onerror="document.getElementById('p').textContent = 'hacked'">
  <form action="/console/push/sends" method="post"><button>Senden</button></form>
  <a href="https://elsewhere.example.com/" target="_top">Weg von hier</a>`;

const { app, url } = await startTestApp({
  resources: [defineUser()],
  extensions: [developerConsole()],
  mailTexts: {
    'verify-email': { de: () => ({ subject: 'Adresse bestätigen', text: 'Hallo', html: HOSTILE }) },
    'sign-in': {
      fr: () => {
        throw new Error('no French yet');
      },
    },
  },
});
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

/** Opens the page. Also returns its errors; the browser logs violations of its content security policy there. */
async function openMails(fragment = ''): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  onTestFinished(() => page.close());
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) pageErrors.push(message.text());
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await page.goto(`${url}/console/mails${fragment}`);
  await page.getByRole('article').waitFor();
  return { page, pageErrors };
}

const frameOf = (page: Page) => page.frameLocator('#html');
const subjectOf = (page: Page) => page.locator('#subject');
const linkTo = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const untilSubject = (page: Page, subject: string) =>
  expect.poll(() => subjectOf(page).textContent(), { timeout: 60_000 }).toBe(subject);

browserTest(
  'every e-mail of the app can be selected, and is shown as subject, HTML and text; the back button returns to the previous one',
  120_000,
  async () => {
    const { page, pageErrors } = await openMails();
    await untilSubject(page, 'Choose a new password');
    const kinds = await page.locator('#texts a').allTextContents();
    expect(kinds.length).toBeGreaterThan(15);
    for (const kind of kinds) {
      await linkTo(page, kind).click();
      await page.getByRole('heading', { level: 2, name: kind, exact: true }).waitFor();
      expect(await linkTo(page, kind).getAttribute('aria-current')).toBe('true');
      expect(await page.locator('.lists [aria-current]').count()).toBe(1);
      expect(await subjectOf(page).textContent()).not.toBe('');
      expect(await page.locator('#text').textContent()).not.toBe('');
      await frameOf(page).locator('p').first().waitFor();
    }
    await linkTo(page, 'new-device').click();
    await untilSubject(page, 'New sign-in to your account');
    await frameOf(page).getByText('with Firefox on Windows').waitFor();
    await page.goBack();
    await untilSubject(page, 'Your account was erased');
    expect(pageErrors).toEqual([]);
  },
);

browserTest('an e-mail in another locale is shown, and none of its scripts, forms and links work', 60_000, async () => {
  const { page } = await openMails('#texts/verify-email');
  await untilSubject(page, 'Verify your e-mail address');
  await page.getByLabel('Locale').selectOption('de');
  await untilSubject(page, 'Adresse bestätigen');
  expect(page.url()).toBe(`${url}/console/mails#texts/verify-email/de`);
  await frameOf(page).getByText('Hallo').waitFor();
  await frameOf(page).getByRole('button', { name: 'Senden' }).click();
  await frameOf(page).getByRole('link', { name: 'Weg von hier' }).click();
  await linkTo(page, 'sign-in').click();
  await untilSubject(page, 'Sign in');
  await page.goBack();
  await untilSubject(page, 'Adresse bestätigen');
  expect(await frameOf(page).locator('#p').textContent()).toBe('Hallo');
});

browserTest('the page shows why a text does not work, and shows the next one without the error', 60_000, async () => {
  const { page } = await openMails('#texts/sign-in/fr');
  await page.getByRole('alert').getByText('The text of sign-in in fr threw Error: no French yet').waitFor();
  expect(await subjectOf(page).textContent()).toBe('');
  await page.getByLabel('Locale').selectOption('en');
  await untilSubject(page, 'Sign in');
  expect(await page.getByRole('alert').isVisible()).toBe(false);
});

browserTest('captured e-mails appear without a reload', 60_000, async () => {
  const { page } = await openMails();
  await page.getByText('No e-mail has been captured yet.').waitFor();
  await app.mail.send({ to: 'ann@example.com', subject: 'Good <b>day</b>', text: 'How are you?' });
  await page.getByRole('link', { name: 'Good <b>day</b>' }).click();
  await untilSubject(page, 'Good <b>day</b>');
  await page.getByText('To ann@example.com').waitFor();
  expect(await page.getByLabel('Locale').isVisible()).toBe(false);
  await frameOf(page).getByText('How are you?').waitFor();
});

browserTest('the pages of the console link to each other', 60_000, async () => {
  const { page } = await openMails();
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Push' }).click();
  await page.getByRole('heading', { level: 1, name: 'Push' }).waitFor();
  const links = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
  expect(await links.nth(1).getAttribute('aria-current')).toBe('page');
  await links.nth(2).click();
  await page.getByRole('heading', { level: 1, name: 'E-mails' }).waitFor();
  await links.first().click();
  await page.getByRole('heading', { level: 1, name: 'This app declares no resources yet' }).waitFor();
  await links.nth(3).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
});

browserTest(
  'the page fits every screen, and every text is readable and every control has a visible focus, in light and in dark mode',
  180_000,
  async () => {
    await app.mail.send({ to: `${'long'.repeat(15)}@example.com`, subject: 'Wide'.repeat(60), text: 'W'.repeat(500) });
    const { page } = await openMails('#texts/verify-email/de');
    await page.getByRole('link', { name: 'WideWide' }).waitFor();
    for (const width of [360, 390, 1280, 1920]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        for (const [name, link] of [
          ['text', linkTo(page, 'new-device')],
          ['captured', page.getByRole('link', { name: 'WideWide' })],
        ] as const) {
          await link.click();
          await page.locator('#locale-field').waitFor({ state: name === 'text' ? 'visible' : 'hidden' });
          await frameOf(page).locator('p').first().waitFor();
          await expectReadable(page);
          await keepScreenshot(page, `console-mails-${name}-${width}-${colorScheme}`);
        }
      }
    }
    await linkTo(page, 'new-device').click();
    await page.locator('#locale-field').waitFor();
    await page.evaluate(`document.activeElement.blur()`);
    const seen: { tag: string; isOutlined: boolean }[] = [];
    while (seen.at(-1)?.tag !== 'SELECT' && seen.length < 200) {
      await page.keyboard.press('Tab');
      seen.push(
        (await page.evaluate(`(() => {
          const { tagName } = document.activeElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
          return { tag: tagName, isOutlined: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2 };
        })()`)) as { tag: string; isOutlined: boolean },
      );
    }
    expect(new Set(seen.map(({ tag }) => tag))).toEqual(new Set(['A', 'SELECT']));
    expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
  },
);
