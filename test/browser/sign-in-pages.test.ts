// The ready-made sign-in pages, in a real browser.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { openMailbox } from '../support/mailbox.ts';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';
import {
  openPage,
  PASSWORD,
  press,
  readToken,
  signIn,
  startAppWithPages,
  waitForHeading,
  waitForMail,
} from './sign-in-pages-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const { app, origin, person } = await startAppWithPages();
const WELCOME = `${origin}/welcome`;

/** Opens a page of the app in a browser profile of its own. */
async function newTab(path: string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await openPage(page, origin + path);
  return page;
}

/** Returns the token of a reset link, which is in the query. */
const resetTokenIn = ({ text }: { text: string }) => /[?&]token=([\w-]+)/.exec(text)![1]!;

browserTest(
  'a user registers, confirms the address with the link, signs out, and signs in again; a wrong password is reported',
  90_000,
  async () => {
    const page = await newTab('/auth/register');
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('E-mail address').fill('ada@pages.example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await press(page, 'Create account');
    await page.waitForURL(WELCOME);
    const { token } = await openMailbox(app, 'ada@pages.example.com').next();
    await openPage(page, `${origin}/auth/verify#token=${token}`);
    await waitForHeading(page, 'Your address is verified');
    expect(page.url()).toBe(`${origin}/auth/verify`);

    await openPage(page, `${origin}/auth/account`);
    await page.getByText('Verified', { exact: true }).waitFor();
    await press(page, 'Sign out');
    await page.waitForURL(`${origin}/auth/sign-in`);
    expect(await readToken(page)).toBeNull();

    await signIn(page, 'ada@pages.example.com', 'wrong password');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('password');
    await signIn(page, 'ada@pages.example.com');
    await page.waitForURL(WELCOME);
    expect(await readToken(page)).toMatch(/^svc_[0-9a-f]{64}$/);
  },
);

browserTest(
  'errors appear next to their fields, which screen readers connect, and the first one gets the focus',
  60_000,
  async () => {
    const page = await newTab('/auth/register');
    const [name, email, password] = ['Name', 'E-mail address', 'Password'].map((label) => page.getByLabel(label));
    await press(page, 'Create account');
    for (const field of [name!, email!, password!]) expect(await field.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => name!.evaluate('document.activeElement.name')).toBe('name');
    await name!.fill('Ada');
    await email!.fill('ada');
    await password!.fill('12345678');
    await press(page, 'Create account');
    await expect.poll(() => email!.evaluate('document.activeElement.name')).toBe('email');
    expect(await name!.getAttribute('aria-invalid')).toBeNull();
    const described = (await email!.getAttribute('aria-describedby'))!.split(' ').map((id) => `#${id}`);
    expect(await page.locator(described.join(', ')).allTextContents()).toContainEqual(
      expect.stringContaining('e-mail'),
    );
    expect(await page.getByRole('alert').textContent()).toBe('Please check the marked fields.');
  },
);

browserTest('a password is shown on request, and hidden again when it is sent', 60_000, async () => {
  const page = await newTab('/auth/sign-in');
  const password = page.getByLabel('Password');
  await page.getByLabel('E-mail address').fill('nobody@pages.example.com');
  await password.fill('a wrong password');
  const reveal = page.getByRole('button', { name: 'Show password' });
  await reveal.click();
  await expect.poll(() => password.getAttribute('type')).toBe('text');
  await press(page, 'Sign in');
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('password');
  expect(await password.getAttribute('type')).toBe('password');
  expect(await reveal.getAttribute('aria-pressed')).toBe('false');
});

browserTest(
  'a user who forgot the password sets a new one with the link, whose token leaves the address bar',
  60_000,
  async () => {
    const bob = await person('Bob');
    const page = await newTab('/auth/sign-in');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('E-mail address').fill(bob.email);
    await press(page, 'Send link');
    await waitForHeading(page, 'Check your e-mail');
    const token = resetTokenIn(await waitForMail(app, bob.email, '/auth/reset'));
    await openPage(page, `${origin}/auth/reset?token=${token}`);
    expect(page.url()).toBe(`${origin}/auth/reset`);
    await page.getByLabel('New password').fill('a bell rings at noon');
    await press(page, 'Set password');
    await waitForHeading(page, 'Your password is set');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page, bob.email, 'a bell rings at noon');
    await page.waitForURL(WELCOME);

    await openPage(page, `${origin}/auth/reset?token=${token}`);
    await page.getByLabel('New password').fill('a bell rings at noon again');
    await press(page, 'Set password');
    await page.getByRole('link', { name: 'Request a new link' }).waitFor();
  },
);

browserTest(
  'the link of a sign-in by e-mail works in a new tab of the same browser, and leads to the requested page',
  60_000,
  async () => {
    const page = await newTab('/auth/sign-in?next=/welcome?from=link');
    await page.getByLabel('E-mail address').fill('cy@pages.example.com');
    await press(page, 'E-mail me a sign-in link');
    await waitForHeading(page, 'Sign in by e-mail');
    await press(page, 'Send e-mail');
    await waitForHeading(page, 'Check your e-mail');
    const { token, code } = await openMailbox(app, 'cy@pages.example.com').next();

    const stranger = await newTab(`/auth/email#token=${token}`);
    await expect
      .poll(() => stranger.getByRole('alert').textContent())
      .toContain('only in the browser that requested it');
    const link = await page.context().newPage();
    await link.goto(`${origin}/auth/email#token=${token}`);
    await link.waitForURL(`${WELCOME}?from=link`);
    // The code of the same e-mail is used up.
    await page.getByLabel('Code').fill(code);
    await press(page, 'Sign in');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('invalid');
  },
);

browserTest('a user signs in with the code of an e-mail', 60_000, async () => {
  const page = await newTab('/auth/email');
  await page.getByLabel('E-mail address').fill('dee@pages.example.com');
  await press(page, 'Send e-mail');
  await waitForHeading(page, 'Check your e-mail');
  const { code } = await openMailbox(app, 'dee@pages.example.com').next();
  await page.getByLabel('Code').fill(`${code.slice(0, 3)} ${code.slice(3)}`);
  await press(page, 'Sign in');
  await page.waitForURL(WELCOME);
});

browserTest('a user who cancels at the provider returns to the sign-in', 60_000, async () => {
  const page = await newTab('/auth/sign-in');
  await press(page, 'Continue with Simulated provider');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await waitForHeading(page, 'You are not signed in');
  await page.getByRole('link', { name: 'Try again' }).click();
  await waitForHeading(page, 'Sign in');
});

browserTest('an invited person registers with the link', 60_000, async () => {
  const admin = await person('Root', ['user', 'admin']);
  const email = 'hal@pages.example.com';
  expect((await admin.call('POST', '/api/invitations', { email })).status).toBe(201);
  const { token } = await openMailbox(app, email).next();
  const page = await newTab(`/auth/invitation#token=${token}`);
  await page.getByText(`Create the account for ${email}.`).waitFor();
  expect(page.url()).toBe(`${origin}/auth/invitation`);
  await page.getByLabel('Name').fill('Hal');
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Create account');
  await page.waitForURL(WELCOME);
});

browserTest('an invited user with an account signs in first, and returns to the invitation', 60_000, async () => {
  const admin = await person('Root', ['user', 'admin']);
  const ida = await person('Ida');
  await app.service('user').update(ida.id, { emailVerifiedAt: new Date().toISOString() } as never);
  await admin.call('POST', '/api/invitations', { email: ida.email, roles: ['admin'] });
  const { token } = await waitForMail(app, ida.email, '/auth/invitation');
  const page = await newTab(`/auth/invitation#token=${token}`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, ida.email);
  await press(page, 'Accept the invitation');
  await page.waitForURL(WELCOME);
  expect((await ida.call('GET', '/api/auth/me')).body.data.roles).toContain('admin');
});

/** Invites an address to an organisation. Returns the path of the link. */
async function inviteToOrganisation(name: string, email: string): Promise<{ id: string; path: string }> {
  const boss = await person('Boss');
  const { id } = (await boss.call('POST', '/api/organisations', { name })).body.data;
  expect((await boss.call('POST', `/api/organisations/${id}/invitations`, { email })).status).toBe(201);
  const { token } = await waitForMail(app, email, '/auth/organisation-invitation');
  return { id, path: `/auth/organisation-invitation#token=${token}` };
}

browserTest(
  'a user who is invited to an organisation signs in, returns to the invitation, and accepts it',
  60_000,
  async () => {
    const mia = await person('Mia');
    const { id, path } = await inviteToOrganisation('Acme <b>& Sons', mia.email);
    const page = await newTab(path);
    await waitForHeading(page, 'Join Acme <b>& Sons');
    expect(page.url()).toBe(`${origin}/auth/organisation-invitation`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page, mia.email);
    await page.getByText(`${mia.email} is invited with the role “member”.`).waitFor();
    await press(page, 'Accept the invitation');
    await page.waitForURL(WELCOME);
    expect((await mia.call('GET', `/api/organisations/${id}`)).status).toBe(200);
    await openPage(page, origin + path);
    await page.getByText('This invitation is invalid or has expired').waitFor();
    await waitForHeading(page, 'This link cannot be used');
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.waitForURL(WELCOME);
  },
);

browserTest(
  'a person without an account creates it first, and another user is asked to sign in with the invited address',
  90_000,
  async () => {
    const email = 'nia@pages.example.com';
    const { path } = await inviteToOrganisation('Acme', email);
    const page = await newTab('/auth/sign-in');
    const other = await person('Other');
    await signIn(page, other.email);
    await page.waitForURL(WELCOME);
    await openPage(page, origin + path);
    await page.getByText(`You are signed in as ${other.email}.`).waitFor();
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Name').fill('Nia');
    await expect.poll(() => page.getByLabel('E-mail address').inputValue()).toBe(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await press(page, 'Create account');
    await press(page, 'Accept the invitation');
    await page.waitForURL(WELCOME);
  },
);

browserTest('a user signs in with the keyboard alone, and can see the password meanwhile', 60_000, async () => {
  const kim = await person('Kim');
  const page = await newTab('/auth/sign-in');
  await page.keyboard.press('Tab');
  await page.keyboard.type(kim.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  const password = page.getByLabel('Password');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await expect.poll(() => password.getAttribute('type')).toBe('text');
  expect(await password.inputValue()).toBe(PASSWORD);
  expect(await password.getAttribute('spellcheck')).toBe('false');
  await page.keyboard.press('Space');
  await expect.poll(() => password.getAttribute('type')).toBe('password');
  await page.keyboard.press('Tab');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Sign in');
  await expect.poll(() => page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await page.keyboard.press('Enter');
  await page.waitForURL(WELCOME);
});

browserTest(
  'a sign-in ignores a next page on another host, and a session that has ended leads to the sign-in and back',
  60_000,
  async () => {
    const lee = await person('Lee');
    const page = await newTab(`/auth/sign-in?next=${encodeURIComponent('//evil.example')}`);
    await signIn(page, lee.email);
    await page.waitForURL(WELCOME);
    await lee.call('POST', '/api/auth/logout-all', {});
    await page.goto(`${origin}/auth/account`);
    await page.waitForURL(`${origin}/auth/sign-in?next=%2Fauth%2Faccount`);
    await signIn(page, lee.email);
    await page.waitForURL(`${origin}/auth/account`);
  },
);

browserTest('an invitation takes over an account that was never verified, after the user agrees', 60_000, async () => {
  const admin = await person('Root', ['user', 'admin']);
  const squatter = await person('Squatter');
  await admin.call('POST', '/api/invitations', { email: squatter.email });
  const { token } = await waitForMail(app, squatter.email, '/auth/invitation');
  const page = await newTab(`/auth/invitation#token=${token}`);
  await page.getByText('an account with this address that was never verified').waitFor();
  expect((await squatter.call('GET', '/api/auth/me')).status).toBe(200);
  await press(page, 'Accept the invitation');
  await page.waitForURL(WELCOME);
  expect((await squatter.call('GET', '/api/auth/me')).status).toBe(401);
});

browserTest('providers are shown with their logos, others with the first letter of their names', 60_000, async () => {
  const page = await newTab('/auth/sign-in');
  const icons = ['apple', 'discord', 'github', 'gitlab', 'google', 'microsoft'];
  const known = icons.map((icon) => ({ provider: icon, name: icon, icon }));
  await page.route('**/api/auth/oidc', (route) =>
    route.fulfill({ json: { data: [...known, { provider: 'x', name: 'Éole' }] } }),
  );
  await openPage(page, `${origin}/auth/sign-in`);
  await page.getByRole('button', { name: 'Continue with microsoft' }).waitFor();
  expect(await page.locator('button svg.provider-icon').count()).toBe(icons.length);
  expect(await page.locator('.provider-icon.letter').innerText()).toBe('É');
  await keepScreenshot(page, 'sign-in-providers');
});
