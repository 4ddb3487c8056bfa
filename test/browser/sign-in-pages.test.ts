// The ready-made sign-in pages, in a real browser.
import { TOTP } from 'otpauth';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { openMailbox, type ProofMail } from '../support/mailbox.ts';
import { browserTest, startBrowser } from './browser.ts';
import { openPage, PASSWORD, startAppWithPages, useSession } from './sign-in-pages-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
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

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const readToken = (page: Page) => page.evaluate<string | null>(`localStorage.getItem('belfry.token')`);

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await press(page, 'Sign in');
}

/** Waits for an e-mail with a link to a page. */
async function mailWith(address: string, path: string): Promise<ProofMail> {
  const mailbox = openMailbox(app, address);
  for (;;) {
    const mail = await mailbox.next();
    if (mail.text.includes(path)) return mail;
  }
}

/** Returns the token of a reset link, which is in the query. */
const resetTokenIn = ({ text }: { text: string }) => /[?&]token=([\w-]+)/.exec(text)![1]!;

/** Makes every sign-in of a user too old for sensitive actions. */
async function makeSignInOld(userId: string): Promise<void> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL! });
  await client.connect();
  await client.query(`update sessions set authenticated_at = now() - interval '3 hours' where user_id = $1`, [userId]);
  await client.end();
}

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
    await heading(page, 'Your address is confirmed');
    expect(page.url()).toBe(`${origin}/auth/verify`);

    await openPage(page, `${origin}/auth/account`);
    await page.getByText('Confirmed', { exact: true }).waitFor();
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
    expect(await name!.evaluate('document.activeElement.name')).toBe('name');
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

browserTest(
  'a user who forgot the password sets a new one with the link, whose token leaves the address bar',
  60_000,
  async () => {
    const bob = await person('Bob');
    const page = await newTab('/auth/sign-in');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('E-mail address').fill(bob.email);
    await press(page, 'Send link');
    await heading(page, 'Check your e-mail');
    const token = resetTokenIn(await mailWith(bob.email, '/auth/reset'));
    await openPage(page, `${origin}/auth/reset?token=${token}`);
    expect(page.url()).toBe(`${origin}/auth/reset`);
    await page.getByLabel('New password').fill('a bell rings at noon');
    await press(page, 'Set password');
    await heading(page, 'Your password is set');
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
    await heading(page, 'Sign in by e-mail');
    await press(page, 'Send e-mail');
    await heading(page, 'Check your e-mail');
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
  await heading(page, 'Check your e-mail');
  const { code } = await openMailbox(app, 'dee@pages.example.com').next();
  await page.getByLabel('Code').fill(`${code.slice(0, 3)} ${code.slice(3)}`);
  await press(page, 'Sign in');
  await page.waitForURL(WELCOME);
});

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
    await heading(page, 'Link this account?');
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

browserTest('a user who cancels at the provider returns to the sign-in', 60_000, async () => {
  const page = await newTab('/auth/sign-in');
  await press(page, 'Continue with Simulated provider');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await heading(page, 'You are not signed in');
  await page.getByRole('link', { name: 'Try again' }).click();
  await heading(page, 'Sign in');
});

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
    await heading(page, 'Enter your code');
    await page.getByLabel('Code').fill('000000');
    await press(page, 'Sign in');
    await expect.poll(() => page.getByLabel('Code').getAttribute('aria-invalid')).toBe('true');
    // The code of this step has confirmed the enrolment, and works once.
    await page.getByLabel('Code').fill(totp.generate({ timestamp: Date.now() + 30_000 }));
    await press(page, 'Sign in');
    await page.waitForURL(WELCOME);

    await openPage(page, `${origin}/auth/sign-in?next=/auth/account`);
    await signIn(page, gus.email);
    await heading(page, 'Enter your code');
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
  const { token } = await mailWith(ida.email, '/auth/invitation');
  const page = await newTab(`/auth/invitation#token=${token}`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, ida.email);
  await press(page, 'Accept the invitation');
  await page.waitForURL(WELCOME);
  expect((await ida.call('GET', '/api/auth/me')).body.data.roles).toContain('admin');
});

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
    await heading(page, 'Check your e-mail');
    const { token } = await openMailbox(app, 'jo.new@pages.example.com').next();
    const link = await page.context().newPage();
    await openPage(link, `${origin}/auth/change-email#token=${token}`);
    await heading(link, 'Your address is changed');

    const undo = await mailWith(jo.email, '/auth/undo-email-change');
    const stranger = await newTab(`/auth/undo-email-change#token=${undo.token}`);
    expect((await jo.call('GET', '/api/auth/me')).body.data.email).toBe('jo.new@pages.example.com');
    await press(stranger, 'Undo the change');
    await heading(stranger, 'The change is undone');
    expect((await jo.call('GET', '/api/auth/me')).status).toBe(401);
  },
);

browserTest('a user signs in with the keyboard alone', 60_000, async () => {
  const kim = await person('Kim');
  const page = await newTab('/auth/sign-in');
  await page.keyboard.press('Tab');
  await page.keyboard.type(kim.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Sign in');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
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
