import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f, softDelete } from '../../src/index.ts';
import { createTestStorage } from '../files/support.ts';
import { startTestApp } from '../support/app.ts';

const topic = defineResource('topic', {
  fields: { name: f.string().required().unique().searchable() },
  policies: { list: 'public', read: 'public' },
});

const article = defineResource('article', {
  description: 'What readers see on the front page.',
  fields: {
    title: f.string().required().max(200).searchable().filterable().sortable().describe('The headline'),
    status: f.enum(['draft', 'review', 'published']).default('draft').filterable(),
    featured: f.boolean(),
    views: f.integer().min(0).filterable().sortable(),
    rating: f.number(),
    price: f.decimal(),
    contact: f.email(),
    website: f.url(),
    due: f.date().filterable(),
    body: f.text().searchable(),
    tags: f.array(f.string()),
    place: f.object({ street: f.string().required(), number: f.integer() }),
    extra: f.json(),
    topic: f.ref('topic').filterable(),
    reviewers: f.refs('user'),
    cover: f.file({ types: ['image/*'] }),
    slug: f.string().immutable(),
    rank: f.integer().readOnly(),
    notes: f.string().hidden(),
    pin: f.string().writeOnly(),
    account: f.string().encrypted(),
    budget: f.decimal().visibleTo('owner | admin'),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  softDelete: true,
  audit: true,
});

const fixture = defineResource('fixture', {
  title: 'opponent',
  labels: { one: 'Match day', many: 'Match days' },
  fields: {
    venue: f.string().required(),
    opponent: f.string().required(),
    startsAt: f.date().required().label('Kick-off'),
  },
  policies: { list: 'public', read: 'public' },
});

const emptyThing = defineResource('empty-thing', { fields: { name: f.string().required() } });

/** Starts an app in development whose resources have a field of every type, and the console. */
export async function startConsoleApp() {
  const { storage } = await createTestStorage();
  return startTestApp(
    {
      resources: [article, topic, emptyThing, fixture, defineUser()],
      extensions: [softDelete(), audit(), adminConsole()],
      settings: { files: { storage } },
    },
    { roles: 'all' },
  );
}

/**
 * Opens a page of the console. Also returns its errors; the browser logs violations of its content security policy there.
 *
 * @param options `prepare`: called before the page is loaded
 */
export async function openConsole(
  browser: Browser,
  address: string,
  {
    width = 1280,
    height = 900,
    prepare,
  }: { width?: number; height?: number; prepare?: (page: Page) => Promise<unknown> } = {},
): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await browser.newPage({ viewport: { width, height }, reducedMotion: 'reduce' });
  onTestFinished(() => page.close());
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) pageErrors.push(message.text());
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await prepare?.(page);
  await page.goto(address);
  await page.locator('main h1').waitFor();
  return { page, pageErrors };
}

/** Presses Tab until an expression is true, and returns the elements that had the focus, with whether each has a visible outline. */
export async function pressTabUntil(page: Page, isLast: string): Promise<{ tag: string; isOutlined: boolean }[]> {
  await page.evaluate('document.activeElement.blur()');
  const seen: { tag: string; isOutlined: boolean; isLast: boolean }[] = [];
  while (seen.at(-1)?.isLast !== true && seen.length < 200) {
    await page.keyboard.press('Tab');
    seen.push(
      await page.evaluate(`(() => {
        const { tagName } = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return { tag: tagName, isOutlined: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2, isLast: ${isLast} };
      })()`),
    );
  }
  // Between the last element and the first one, the focus is outside of the page.
  const elements = seen.filter(({ tag }) => tag !== 'BODY');
  expect(seen.at(-1)?.isLast, 'the last element is reached by keyboard').toBe(true);
  return elements;
}
