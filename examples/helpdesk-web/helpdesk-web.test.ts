import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
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
const { app, signInAs, url, waitForMail } = await createTestApp(helpdesk, {
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
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  await page.goto(`${siteUrl}/${hash}`);
  return { page, errors };
}

/** Signs in to the page. */
async function signIn({ page }: Visit, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Tickets' }).waitFor({ state: 'attached' });
}

/** Opens the page for an agent and a customer of a new company. */
async function visitAsTwo(company: string) {
  const [agent, customer] = [await signInAs({ name: `${company} agent` }), await signInAs({ name: `${company} customer` })];
  const { id } = (await agent.api.post('/api/organisations', { name: company })).body.data;
  await app.organisations.addMember(id, customer.id, 'customer');
  const [first, second] = [await visit(), await visit()];
  await signIn(first, agent.email, agent.password);
  await signIn(second, customer.email, customer.password);
  return { agent, customer, agentVisit: first, customerVisit: second, errors: [first.errors, second.errors] };
}

/** Creates a ticket in the page, and waits until it is shown. */
async function createTicket(page: Page, title: string, file?: { name: string; mimeType: string; buffer: Buffer }) {
  await page.getByRole('link', { name: 'New ticket' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('What happened?').fill('The bell is silent.');
  if (file) await page.getByLabel('Attachments').setInputFiles(file);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: title }).waitFor();
}

const inList = (page: Page, title: string) => page.getByRole('navigation').getByRole('link', { name: title });

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
  const { agentVisit, customerVisit, customer, errors } = await visitAsTwo('Bolt');
  const [agent, page] = [agentVisit.page, customerVisit.page];
  const file = { name: 'log.txt', mimeType: 'text/plain', buffer: Buffer.from('ding dong') };
  await createTicket(page, 'No sound', file);
  await inList(agent, 'No sound').click();
  const download = await fetch((await agent.getByRole('link', { name: 'log.txt' }).getAttribute('href'))!);
  expect(await download.text()).toBe('ding dong');

  await page.getByLabel('Your reply').fill('It was fine yesterday.');
  await page.getByRole('button', { name: 'Reply' }).click();
  await agent.getByText('It was fine yesterday.').waitFor();
  await agent.getByLabel('Your reply').fill('Ask for the serial number');
  await agent.getByLabel('Internal note').check();
  await agent.getByRole('button', { name: 'Reply' }).click();
  await agent.getByText('internal note').waitFor();
  await agent.getByLabel('Your reply').fill('Have you tried a hammer?');
  await agent.getByRole('button', { name: 'Reply' }).click();
  await page.getByText('Have you tried a hammer?').waitFor();
  expect(await page.getByText('serial number').count()).toBe(0);
  await page.getByRole('article').getByText('waiting').waitFor();
  await keepScreenshot(agent, 'ticket');

  await agent.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('article').getByText('closed').waitFor();
  await page.getByRole('button', { name: `Sign out ${customer.name}` }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  expect(await page.getByText('No sound').count()).toBe(0);
  expect(errors).toEqual([[], []]);
});
