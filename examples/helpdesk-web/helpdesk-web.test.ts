import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type { AxeResults } from 'axe-core';
import { createTestApp } from 'belfry/testing';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { app as helpdesk } from '../helpdesk/src/app.ts';

const folder = import.meta.dirname;
const executablePath = process.env.TEST_CHROMIUM;
const PASSWORD = 'a bell rings at noon';

/** Builds the page with the npm script of the example. */
async function buildPage(): Promise<string> {
  const built = mkdtempSync(join(tmpdir(), 'helpdesk-web-'));
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [command, ...args] = scripts.build.replace('--outdir=dist', `--outdir=${built}/dist`).split(' ');
  await promisify(execFile)(join(folder, '../../node_modules/.bin', command), args, { cwd: folder });
  return built;
}

const types: Record<string, string> = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };
const built = executablePath === undefined ? '' : await buildPage();
let apiUrl = '';
const site = createServer((req, res) => {
  const path = req.url === '/' ? '/index.html' : req.url!;
  const file = readFileSync(join(path.startsWith('/dist/') ? built : folder, path), 'utf8');
  res.writeHead(200, { 'Content-Type': `${types[extname(path)]}; charset=utf-8` });
  res.end(file.replace('http://localhost:5001', apiUrl));
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
const { api, app, url, waitForMail } = await createTestApp(helpdesk, {
  environment: { CORS_ORIGINS: siteUrl, FRONT_END_URL: `${siteUrl}/` },
});
apiUrl = url;

const browser: Browser | undefined = executablePath
  ? await chromium.launch({ executablePath, args: ['--disable-gpu'] })
  : undefined;
afterAll(async () => {
  await browser?.close();
  site.close();
  if (built) rmSync(built, { recursive: true });
});

/** A test in the browser. It skips itself if there is none. */
const browserTest = (name: string, run: () => Promise<void>) =>
  test(name, { timeout: 120_000 }, async ({ skip }) => {
    skip(browser === undefined, 'no Chromium');
    await run();
  });

interface Visit {
  page: Page;
  /** What went wrong in the page. */
  errors: string[];
}

/** Opens the page in a browser context of its own. */
async function visit(options: Parameters<Browser['newContext']>[0] = {}, hash = ''): Promise<Visit> {
  const page = await (await browser!.newContext(options)).newPage();
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // The browser logs each refused request as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text());
  });
  await page.goto(`${siteUrl}/${hash}`);
  return { page, errors };
}

/** Registers a user, and signs them in to a page of their own. */
async function visitAs(name: string, options?: Parameters<typeof visit>[0]) {
  const email = `${name.replaceAll(' ', '-')}@example.com`;
  const { body } = await api.post('/api/auth/register', { name, email, password: PASSWORD });
  const { user, token } = body.data;
  const visited = await visit(options);
  return { ...visited, id: user.id as string, name, email, token: token as string };
}

/** Signs in through the page. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'New ticket' }).waitFor();
}

/** Opens the page for an agent and a customer of a new company, in two browser contexts. */
async function visitAsTwo(company: string, options: { agent?: Parameters<typeof visit>[0] } = {}) {
  const [agent, customer] = [await visitAs(`${company} agent`, options.agent), await visitAs(`${company} customer`)];
  const headers = { authorization: `Bearer ${agent.token}` };
  const { id } = (await api.post('/api/organisations', { name: company }, { headers })).body.data;
  await app.organisations.addMember(id, customer.id, 'customer');
  for (const { page, email } of [agent, customer]) await signIn(page, email);
  return { agent, customer, errors: [agent.errors, customer.errors] };
}

const textFile = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('ding dong') });

/** Creates a ticket in the page, and waits until it is shown. */
async function createTicket(page: Page, title: string, file: ReturnType<typeof textFile>) {
  await page.getByRole('link', { name: 'New ticket' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('What happened?').fill('The bell is silent.');
  await page.getByLabel('Attachments').setInputFiles(file);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: title }).waitFor();
}

const inList = (page: Page, title: string) => page.getByRole('navigation').getByRole('link', { name: title });

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of accessibility that the page breaks, with the elements. */
async function barriersOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Saves a screenshot in `test/.output/`, for manual review. */
async function keepScreenshot(page: Page, name: string): Promise<void> {
  const output = join(folder, '../../test/.output');
  mkdirSync(output, { recursive: true });
  await page.screenshot({ path: join(output, `helpdesk-web-${name}.png`), fullPage: true });
}

browserTest('a user registers, founds a company, and invites a customer, who joins through the e-mail', async () => {
  const owner = await visit();
  await owner.page.getByRole('button', { name: 'Create an account' }).click();
  await owner.page.getByLabel('E-mail').fill('ada@example.com');
  await owner.page.getByLabel('Password').fill('short');
  await owner.page.getByRole('button', { name: 'Register' }).click();
  await expect.poll(() => owner.page.getByLabel('Name').getAttribute('aria-invalid')).toBe('true');
  expect(await barriersOf(owner.page)).toEqual([]);
  await owner.page.getByLabel('Name').fill('Ada');
  await owner.page.getByLabel('Password').fill(PASSWORD);
  await owner.page.getByRole('button', { name: 'Register' }).click();
  await owner.page.getByLabel('Company').fill('Acme');
  await owner.page.getByRole('button', { name: 'Create' }).click();
  await owner.page.getByRole('link', { name: 'Invite' }).click();
  await owner.page.getByLabel('E-mail').fill('bob@example.com');
  await owner.page.getByRole('button', { name: 'Send the invitation' }).click();
  await owner.page.getByText('bob@example.com is invited.').waitFor();

  const mail = await waitForMail({ to: 'bob@example.com' });
  const invited = await visit({}, /#token=\S+/.exec(mail.text)![0]);
  await invited.page.getByLabel('Name').fill('Bob');
  await invited.page.getByLabel('E-mail').fill('bob@example.com');
  await invited.page.getByLabel('Password').fill(PASSWORD);
  await invited.page.getByRole('button', { name: 'Register' }).click();
  await invited.page.getByRole('button', { name: 'Join' }).click();
  await invited.page.getByRole('link', { name: 'Acme' }).waitFor();
  await invited.page.getByText('No tickets here.').waitFor();
  expect(await invited.page.getByRole('link', { name: 'Invite' }).count()).toBe(0);
  expect([owner.errors, invited.errors]).toEqual([[], []]);
});

browserTest('two users at once see new tickets, replies and changes of each other, and no internal notes', async () => {
  const visits = await visitAsTwo('Bolt');
  const [agent, page] = [visits.agent.page, visits.customer.page];
  await createTicket(page, 'No sound', textFile('log.txt'));
  await inList(agent, 'No sound').click();
  const address = await agent.getByRole('link', { name: 'log.txt' }).getAttribute('href');
  const download = await fetch(address!);
  expect(await download.text()).toBe('ding dong');

  await page.getByLabel('Your reply').fill('It was fine yesterday.');
  await page.getByRole('button', { name: 'Reply' }).click();
  await agent.getByText('It was fine yesterday.').waitFor();
  await agent.getByLabel('Your reply').fill('Ask for the serial number');
  await agent.getByLabel('Internal note').check();
  await agent.getByRole('button', { name: 'Reply' }).click();
  await agent.getByText('internal note').waitFor();
  await expect.poll(() => agent.getByLabel('Internal note').isChecked()).toBe(false);
  await agent.getByLabel('Internal note').check();
  await agent.getByRole('button', { name: 'Reply' }).click();
  await expect.poll(() => agent.getByLabel('Your reply').getAttribute('aria-invalid')).toBe('true');
  expect(await agent.getByLabel('Internal note').isChecked()).toBe(true);
  await agent.getByLabel('Internal note').uncheck();
  await agent.getByLabel('Your reply').fill('Have you tried a hammer?');
  await agent.getByRole('button', { name: 'Reply' }).click();
  await page.getByText('Have you tried a hammer?').waitFor();
  expect(await page.getByText('serial number').count()).toBe(0);
  await page.getByRole('article').getByText('waiting').waitFor();

  const tooLong = 'x'.repeat(20_001);
  await page.getByLabel('Your reply').fill(tooLong);
  await page.getByRole('button', { name: 'Reply' }).click();
  await expect.poll(() => page.getByLabel('Your reply').getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Your reply').inputValue()).toBe(tooLong);
  await keepScreenshot(agent, 'ticket');
  expect(await barriersOf(agent)).toEqual([]);

  await agent.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('article').getByText('closed').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  expect(await page.getByText('No sound').count()).toBe(0);
  expect(visits.errors).toEqual([[], []]);
});

browserTest('a change is shown at once, and one that conflicts with that of another user is refused', async () => {
  const { agent, customer, errors } = await visitAsTwo('Coil');
  await createTicket(customer.page, 'Too loud', textFile('log.txt'));
  await inList(agent.page, 'Too loud').click();

  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await agent.page.route('**/api/tickets/*', async (route) => {
    if (route.request().method() === 'PATCH') await released;
    await route.continue();
  });
  await agent.page.getByRole('button', { name: 'Close' }).click();
  await agent.page.getByRole('article').getByText('closed').waitFor();
  expect(await customer.page.getByRole('article').getByText('closed').count()).toBe(0);
  release();
  await customer.page.getByRole('article').getByText('closed').waitFor();
  await agent.page.getByRole('button', { name: 'Reopen' }).click();
  await customer.page.getByRole('button', { name: 'Close' }).waitFor();

  await agent.page.getByText('Edit', { exact: true }).click();
  await agent.page.getByLabel('Title').fill('');
  await agent.page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => agent.page.getByLabel('Title').getAttribute('aria-invalid')).toBe('true');
  await agent.page.getByLabel('Title').fill('Much too loud');
  await agent.page.getByLabel('Assignee').selectOption('Coil agent');
  await agent.page.getByLabel('Add attachments').setInputFiles(textFile('levels.txt'));
  await customer.page.getByRole('button', { name: 'Close' }).click();
  await agent.page.getByRole('article').getByText('closed').waitFor();
  await agent.page.getByRole('button', { name: 'Save' }).click();
  await agent.page.getByText('The ticket has changed meanwhile').waitFor();
  await keepScreenshot(agent.page, 'conflict');
  await agent.page.getByRole('button', { name: 'Save' }).click();
  await customer.page.getByRole('heading', { name: 'Much too loud' }).waitFor();
  for (const name of ['log.txt', 'levels.txt']) await customer.page.getByRole('link', { name }).waitFor();
  await agent.page.getByText('Edit', { exact: true }).click();
  await expect.poll(() => agent.page.getByLabel('Assignee').locator(':checked').textContent()).toBe('Coil agent');
  expect(errors).toEqual([[], []]);
});

browserTest('an agent searches, filters and sorts tickets, on a narrow dark screen too', async () => {
  const narrow = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const;
  const { agent, customer, errors } = await visitAsTwo('Dome', { agent: narrow });
  const headers = { authorization: `Bearer ${customer.token}` };
  for (let i = 1; i <= 25; i++) {
    const priority = i === 3 ? 'urgent' : 'normal';
    const created = await api.post(
      '/api/tickets',
      { title: `Bell ${i}.`, body: 'It is silent.', priority },
      { headers },
    );
    expect(created.status).toBe(201);
  }
  const { page } = agent;
  const shown = page.getByRole('navigation').getByRole('listitem');
  await inList(page, 'Bell 25.').waitFor();
  expect(await barriersOf(page)).toEqual([]);
  await expect.poll(() => shown.count()).toBe(20);
  await page.getByRole('button', { name: 'Load more' }).click();
  await expect.poll(() => shown.count()).toBe(25);
  await page.getByLabel('Order').selectOption('Urgent');
  await expect.poll(() => shown.first().textContent()).toContain('Bell 3.');
  await page.getByLabel('Search').fill('no such bell');
  await page.getByText('Nothing found.').waitFor();
  await page.getByLabel('Search').fill('Bell 7');
  await expect.poll(() => shown.count()).toBe(1);
  await page.getByLabel('Status').selectOption('Closed');
  await page.getByText('Nothing found.').waitFor();
  await page.getByLabel('Status').selectOption('Open');
  await inList(page, 'Bell 7.').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Bell 7.' }).waitFor();
  await keepScreenshot(page, 'narrow-dark');
  await page.getByText('Edit', { exact: true }).click();
  await page.getByLabel('Assignee').waitFor();
  expect(await barriersOf(page)).toEqual([]);
  const width = await page.evaluate('document.documentElement.scrollWidth');
  expect(width).toBe(360);
  expect(errors).toEqual([[], []]);
});

test('the front end has at most 400 lines of code', () => {
  const files = globSync(['src/*', '*.css', '*.html'], { cwd: folder });
  const lines = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  // Neither blank lines nor comments.
  expect(lines.filter((line) => !/^\s*($|\/\/|\/\*\*|\*)/.test(line)).length).toBeLessThanOrEqual(400);
});
