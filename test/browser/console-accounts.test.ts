import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { startAccountsApp } from '../extensions/console/accounts/accounts-app.ts';
import { codeOf, guard, PASSWORD, wrongCode } from '../extensions/two-factor/two-factor-user.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

const { app, url, call, person, database, insertPasskey, insertIdentity } = await startAccountsApp('development');
const production = await startAccountsApp('production');
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  '<script>alert(1)</script>',
];
const NAMES = [
  'Ada',
  'Grace',
  'Barbara',
  'Edsger',
  'Donald',
  'Radia',
  'Ken',
  'Margaret',
  'Alan',
  'Wolfeschlegelsteinhausen',
];

/** Creates users of all kinds, and one with something in every panel. */
async function createUsers() {
  const made = Array.from({ length: 60 }, (_, i) => ({
    name: `${NAMES[i % NAMES.length]} ${'Lovelace-Hopper von und zu Liskov'.slice(0, 6 + (i % 27))}`,
    email: `${NAMES[i % NAMES.length]!.toLowerCase()}.${i}@a-company-with-a-long-name.example.com`,
    password: PASSWORD,
    roles: (i % 7 === 0 ? ['user', 'editor', 'support'] : i % 11 === 0 ? ['user', 'admin'] : ['user']) as 'user'[],
    status: i % 9 === 0 ? ('disabled' as const) : ('active' as const),
  }));
  for (const values of made) await app.service('user').create(values);
  await database.query(`update users set email_verified_at = now() where email like '%1@%' or email like '%3@%'`);
  const busy = await person('Katherine', ['user', 'editor']);
  for (const agent of AGENTS)
    await call('POST', '/api/auth/login', { email: busy.email, password: PASSWORD }, { 'user-agent': agent });
  const keys = ['Nightly backup of everything that the company owns', 'CI', '<img src=x onerror=alert(1)>'];
  for (const name of keys)
    await busy.call('POST', '/api/auth/api-keys', {
      name,
      scopes: ['read', 'users:read', 'users:write', 'organisations:read'],
    });
  await busy.call('POST', '/api/auth/devices', { token: 'd'.repeat(64), platform: 'ios', name: 'Phone of Katherine' });
  await busy.call('POST', '/api/organisations', { name: 'Flight Research Division' });
  await guard(busy, database);
  await insertPasskey(busy.id, 'Laptop at work');
  await insertIdentity(busy.id, 'google');
  await call('POST', '/api/auth/login', { email: busy.email, password: 'wrong' });
  return busy;
}

browserTest('administrators find a user, see the whole account, and act on it', 300_000, async () => {
  const busy = await createUsers();
  const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);
  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();

  await page.getByRole('link', { name: 'Accounts' }).click();
  await heading('Users');
  const rows = page.getByRole('table', { name: 'Users' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(50);
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect.poll(() => rows.count()).toBe(61);

  await page.getByLabel('Status').selectOption('disabled');
  await expect.poll(() => page.url()).toContain('status=disabled');
  await expect.poll(() => rows.count()).toBe(7);
  await checkScreens(page, 'console-accounts-users');
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Search').fill('kather');
  await expect.poll(() => page.url()).toContain('q=kather');
  await page.reload();
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByRole('link', { name: 'Katherine' }).press('Enter');
  await heading('Katherine');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Katherine');
  await page.getByRole('region', { name: 'Sessions' }).getByText('Firefox on Windows').waitFor();
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  await checkScreens(page, 'console-accounts-user');
  await page.setViewportSize({ width: 1280, height: 900 });

  await page.getByRole('button', { name: 'End: Firefox on Windows' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).press('Enter');
  await page.getByText('The session has ended').waitFor();
  await expect.poll(() => page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe('Sessions');
  await expect.poll(() => page.getByText('Firefox on Windows').count()).toBe(0);

  await page.getByRole('link', { name: 'Open the record' }).first().click();
  await page.getByRole('link', { name: 'Open the account' }).click();
  await page.getByRole('button', { name: 'Change roles…' }).click();
  await page.getByRole('dialog').getByLabel('support').check();
  await checkScreens(page, 'console-accounts-roles', [360, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Save roles' }).click();
  await page.getByText('The roles are changed').waitFor();
  expect((await app.service('user').read(busy.id)).roles).toEqual(['user', 'editor', 'support']);

  await page.getByRole('button', { name: 'Reset two-factor login' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reset two-factor login' }).click();
  await page.getByText('Two-factor login is off for this user').waitFor();

  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect((await app.service('user').read(busy.id)).status).toBe('active');
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByText('The account is disabled').waitFor();
  await page.getByText('Not signed in anywhere').waitFor();
  await page.getByRole('button', { name: 'Enable', exact: true }).waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest(
  'in production, removing a second factor of a user asks for a code of the administrator',
  120_000,
  async () => {
    const { url: at, database: rows, person: register } = production;
    const boss = await guard(await register('Boss', ['user', 'admin']), rows);
    const lost = await register('Lost');
    await production.insertPasskey(lost.id, 'Stolen laptop');
    const { page, pageErrors } = await openConsole(browser, `${at}/console/accounts`);
    await page.evaluate(`sessionStorage.setItem('belfry.token', '${boss.token}')`);
    await page.goto(`${at}/console/accounts/users/${lost.id}`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByLabel('Your code').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Disable', exact: true }).isEnabled()).toBe(true);
    expect(await page.getByText('The account is disabled').count()).toBe(0);
    await page.getByRole('button', { name: 'Remove: Stolen laptop' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByLabel('Your code').fill(wrongCode(boss.secret));
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.locator('.field-error').waitFor();
    await checkScreens(page, 'console-accounts-code', [360, 1280]);
    await dialog.getByLabel('Your code').fill(codeOf(boss.secret));
    await dialog.getByLabel('Your code').press('Enter');
    await page.getByText('The passkey is removed').waitFor();
    await page.goto(`${at}/console/accounts/users/${boss.id}`);
    await page.getByText('This is your own account').waitFor();
    expect(await page.getByRole('button', { name: 'Disable', exact: true }).isDisabled()).toBe(true);
    await checkScreens(page, 'console-accounts-own', [360, 1280]);
    expect(pageErrors.filter((text) => !/status of (401|404|422)/.test(text))).toEqual([]);
  },
);

browserTest('invitations are sent and revoked, and a locked address is unlocked', 300_000, async () => {
  for (const number of Array.from({ length: 12 }, (_, i) => i))
    await call('POST', '/console/api/accounts/sections/invitations/invitationSent', {
      email: `guest.number.${number}@a-company-with-a-long-name.example.com`,
      roles: number % 3 === 0 ? ['editor', 'support'] : [],
    });
  for (const _ of [1, 2, 3]) {
    const { status } = await call('POST', '/api/auth/login', { email: 'locked@example.com', password: 'wrong' });
    expect([401, 423]).toContain(status);
  }
  const { page, pageErrors } = await openConsole(browser, `${url}/console/accounts/invitations`);
  const rows = page.getByRole('table', { name: 'Invitations' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(12);
  await checkScreens(page, 'console-accounts-invitations', [390, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Invite a user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail address').fill('guest.number.1@a-company-with-a-long-name.example.com');
  await dialog.getByLabel('editor').check();
  await dialog.getByRole('button', { name: 'Invite a user' }).click();
  await dialog.getByText('Is already invited').waitFor();
  await checkScreens(page, 'console-accounts-invite', [360, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await dialog.getByLabel('E-mail address').fill('new@example.com');
  await dialog.getByRole('button', { name: 'Invite a user' }).click();
  await expect.poll(() => rows.count()).toBe(13);
  await page.getByRole('button', { name: 'Revoke: new@example.com' }).click();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => rows.count()).toBe(12);
  await page.getByLabel('Status').selectOption('accepted');
  await page.getByText('No accepted invitations').waitFor();

  await page.getByRole('link', { name: 'Failed sign-ins' }).click();
  await page.getByRole('heading', { level: 1, name: 'Failed sign-ins' }).waitFor();
  await page.getByLabel('E-mail address').fill('Locked@example.com');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Unlock: locked@example.com' }).waitFor();
  await checkScreens(page, 'console-accounts-lockouts', [360, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Unlock: locked@example.com' }).click();
  await page.getByText('0 of 3').waitFor();
  expect(pageErrors).toEqual(['Failed to load resource: the server responded with a status of 409 (Conflict)']);
});
