// The language of the sign-in pages: that of the browser, of the address, or the user's choice.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens } from './screens.ts';
import { openPage, press, startAppWithPages, useSession, waitForHeading } from './sign-in-pages-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const { origin, person } = await startAppWithPages();
const SIGN_IN = `${origin}/auth/sign-in`;

/** Opens a tab in a browser profile of its own. */
async function newTab(options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  return context.newPage();
}

const pageLanguage = (page: Page) => page.evaluate<string>('document.documentElement.lang');
const currentChoice = (page: Page) => page.locator('.languages [aria-current="true"]').textContent();

/** Chooses a language at the foot of a page, and waits for the page in it. */
async function choose(page: Page, name: string, heading: string): Promise<void> {
  await press(page, name);
  await waitForHeading(page, heading);
  await page.locator('body[data-ready]').waitFor();
}

browserTest('a German browser sees German', 120_000, async () => {
  const page = await newTab({ locale: 'de-DE' });
  await openPage(page, SIGN_IN);
  await waitForHeading(page, 'Anmelden');
  expect(await pageLanguage(page)).toBe('de');
  expect(await page.title()).toBe('Anmelden · Acme');
  await page.getByRole('navigation', { name: 'Sprache' }).waitFor();
  expect(await currentChoice(page)).toBe('Deutsch');
  await page.getByLabel('E-Mail-Adresse').fill('nobody@pages.example.com');
  await page.getByLabel('Passwort').fill('wrong password');
  await page.getByRole('button', { name: 'Anmelden', exact: true }).click();
  const problem = page.locator('.problem:not([hidden])');
  await problem.waitFor();
  expect(await problem.textContent()).toContain('E-Mail-Adresse oder Passwort ist falsch');
  await checkScreens(page, 'sign-in-pages-german', [360, 1280]);
});

browserTest('the account is in German, with dates of the region', 120_000, async () => {
  const { token } = await person('Ada');
  const page = await newTab({ locale: 'de-AT' });
  await useSession(page, origin, { token });
  await openPage(page, `${origin}/auth/account`);
  await waitForHeading(page, 'Ihr Konto');
  await page
    .getByText(/Zuletzt verwendet: \d{1,2}\.\d{1,2}\.\d{4}/)
    .first()
    .waitFor();
  await checkScreens(page, 'sign-in-pages-german-account', [360, 1280]);
});

browserTest('a choice at the foot of a page is remembered for all pages, also after a reload', 60_000, async () => {
  const page = await newTab({ locale: 'de-DE' });
  await openPage(page, SIGN_IN);
  await choose(page, 'English', 'Sign in');
  expect(await pageLanguage(page)).toBe('en');
  expect(await currentChoice(page)).toBe('English');
  await page.reload();
  await waitForHeading(page, 'Sign in');
  const other = await page.context().newPage();
  await openPage(other, `${origin}/auth/register`);
  await waitForHeading(other, 'Create an account');
  await choose(other, 'Deutsch', 'Konto erstellen');
});

browserTest('a language on the address is for the tab, until the user chooses another one', 60_000, async () => {
  const page = await newTab({ locale: 'en-GB' });
  await openPage(page, `${SIGN_IN}?lang=de&next=/welcome`);
  await waitForHeading(page, 'Anmelden');
  await openPage(page, `${origin}/auth/forgot`);
  await waitForHeading(page, 'Passwort zurücksetzen');
  const other = await page.context().newPage();
  await openPage(other, SIGN_IN);
  await waitForHeading(other, 'Sign in');

  await openPage(page, `${SIGN_IN}?lang=de&next=/welcome`);
  await choose(page, 'English', 'Sign in');
  expect(page.url()).toBe(`${SIGN_IN}?next=%2Fwelcome`);
});

browserTest('a browser in another language, or a language that the pages lack, leads to English', 60_000, async () => {
  const page = await newTab({ locale: 'fr-FR' });
  await openPage(page, `${SIGN_IN}?lang=fr`);
  await waitForHeading(page, 'Sign in');
  expect(await pageLanguage(page)).toBe('en');
  expect(await currentChoice(page)).toBe('English');
});

browserTest('a page whose German texts cannot be loaded works in English', 60_000, async () => {
  const page = await newTab({ locale: 'de-DE' });
  await page.route(/\/assets\//, async (route) => {
    const response = await route.fetch();
    if ((await response.text()).includes('Passwort vergessen?')) await route.fulfill({ status: 404, body: '' });
    else await route.fulfill({ response });
  });
  await openPage(page, SIGN_IN);
  await waitForHeading(page, 'Sign in');
  expect(await pageLanguage(page)).toBe('en');
  expect(await currentChoice(page)).toBe('English');
  expect(await page.evaluate(() => sessionStorage.getItem('belfry.reloads'))).toBeNull();
});
