// `npm run docs:picture`: starts examples/helpdesk with sample data, and writes docs/images/console-{light,dark}.png, which README.md shows.
import { mkdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import sharp from 'sharp';
import { createTestApp } from '../../src/testing/index.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'images');
const PATH = '/console/data/ticket?columns=title,status,priority,tags,requester,createdAt';
const SIZE = { width: 1280, height: 660 };
const HOUR_MS = 3_600_000;

const CUSTOMERS = ['Nora Lind', 'Marco Rossi', 'Priya Shah', 'Jonas Weber', 'Emma Clarke', 'Lucas Martin'] as const;
/** Titles, statuses, priorities and tags, from the newest ticket to the oldest. */
const TICKETS = [
  ['Upload of PDF files fails', 'open', 'high', 'Files'],
  ['Add a second address', 'open', 'low', 'Billing'],
  ['Reports are slow on Mondays', 'open', 'normal', 'Reports'],
  ['How do I invite a colleague?', 'closed', 'low', 'Account'],
  ['Invoice without tax number', 'waiting', 'normal', 'Billing'],
  ['No webhooks since Monday', 'open', 'urgent', 'API'],
  ['Calendar: wrong time zone', 'waiting', 'normal', 'Account'],
  ['Code refused on a new phone', 'closed', 'high', 'Account'],
  ['Export misses a column', 'waiting', 'normal', 'Reports'],
  ['Charged twice for October', 'closed', 'urgent', 'Billing'],
  ['Import stops at row 5,000', 'closed', 'high', 'Files'],
] as const;

// The example imports Belfry by the name of its package, as apps do.
const sourceOfBelfry = new URL('../../src/index.ts', import.meta.url).href;
registerHooks({ resolve: (name, context, next) => next(name === 'belfry' ? sourceOfBelfry : name, context) });
const { app: helpdesk } = await import('../../examples/helpdesk/src/app.ts');
const { app, clock, signInAs, url, close } = await createTestApp(helpdesk);

/** Creates an organisation to which customers have sent tickets in the last days. */
async function createTickets(): Promise<void> {
  await clock.set(new Date(Date.now() - 3 * TICKETS.length * HOUR_MS));
  const { api } = await signInAs({ name: 'Grace Chen' });
  const { id: organisation } = (await api.post('/api/organisations', { name: 'Acme' })).body.data;
  const requesters: string[] = [];
  for (const name of CUSTOMERS) {
    const { id } = await signInAs({ name });
    await app.organisations.addMember(organisation, id);
    requesters.push(id);
  }
  const tags = new Map<string, string>();
  for (const [, , , name] of TICKETS)
    if (!tags.has(name)) tags.set(name, (await app.service('tag').create({ organisation, name })).id);
  for (const [index, [title, status, priority, tag]] of [...TICKETS.entries()].reverse()) {
    const requester = requesters[index % requesters.length]!;
    const values = { organisation, title, body: title, status, priority, tags: [tags.get(tag)!], requester };
    await app.service('ticket').create(values);
    await clock.advance(((index % 3) + 2) * HOUR_MS);
  }
  await clock.reset();
}

/** Writes a picture of the console. A palette makes it half as large. */
async function takePicture(browser: Browser, colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' });
  await page.goto(`${url}${PATH}`);
  await page.locator('table[aria-busy=false]').getByText(CUSTOMERS[0]).first().waitFor();
  const file = join(FOLDER, `console-${colorScheme}.png`);
  await sharp(await page.screenshot())
    .png({ palette: true, colours: 128, dither: 0, effort: 10 })
    .toFile(file);
}

mkdirSync(FOLDER, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' });
try {
  await createTickets();
  await takePicture(browser, 'light');
  await takePicture(browser, 'dark');
} finally {
  await browser.close();
  await close();
}
