import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from '../../browser/browser.ts';
import { openPage, startReactApp, type TestPage } from './app.ts';

const { url, siteUrl, posts, person } = await startReactApp();
const address = `${siteUrl}/?api=${encodeURIComponent(url)}`;

let browser: Browser;
let context: BrowserContext;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});
beforeEach(async () => {
  context = await browser?.newContext();
});
afterEach(async () => {
  await context?.close();
  for (const { id } of (await posts.list({ limit: 100 })).data) await posts.delete(id);
});

/** Signs in, in a page. */
const signIn: Parameters<TestPage['run']>[0] = ({ client }, email) =>
  client.auth.signIn({ email, password: 'correct horse battery' });

/** Holds requests back until `release` is called. */
async function hold(page: Page, method: string) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/api/posts/**', async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  return release;
}

browserTest('a list and a record load what they include, and the list continues with more pages', 60_000, async () => {
  const ada = await person('Ada');
  const titles = ['A', 'B', 'C', 'D', 'E'];
  const created = [];
  for (const [i, title] of titles.entries()) created.push(await posts.create({ title, views: 10 - i, author: ada.id }));
  const { run, has, errors, requests } = await openPage(context, address);
  await has('posts', 'A, B, C');
  await has('total', '5');
  await run(({ posts }) => posts.fetchNextPage());
  await has('posts', 'A, B, C, D, E');
  expect(await run(({ posts }) => posts.hasNextPage)).toBe(false);
  await run(({ selectRecord }, id) => selectRecord(id), created[4]!.id);
  await has('post', 'E');
  await has('author', 'Ada');
  await run(({ selectRecord }) => selectRecord('000000000000000000000000'));
  await has('post', 'NOT_FOUND');
  expect(requests.filter((one) => one.startsWith('GET /posts/'))).toHaveLength(2);
  expect(errors).toEqual([]);
});

browserTest('an update and a deletion are shown at once in every list and record', 60_000, async () => {
  const [first, second] = [await posts.create({ title: 'One', views: 2 }), await posts.create({ title: 'Two' })];
  const { page, run, has, errors } = await openPage(context, address);
  await has('posts', 'One, Two');
  await run(({ selectRecord }, id) => selectRecord(id), first.id);
  await has('post', 'One');
  const release = await hold(page, 'PATCH');
  await run(({ mutation }, id) => void mutation.update(id, { title: 'Changed' }), first.id);
  await has('posts', 'Changed, Two');
  await has('post', 'Changed');
  expect((await posts.read(first.id))?.title).toBe('One');
  release();
  await expect.poll(async () => (await posts.read(first.id))?.title).toBe('Changed');
  await has('posts', 'Changed, Two');

  const releaseDeletion = await hold(page, 'DELETE');
  await run(({ mutation }, id) => void mutation.remove(id), first.id);
  await has('posts', 'Two');
  await has('total', '1');
  await has('post', 'deleted');
  releaseDeletion();
  await expect.poll(() => posts.list({})).toMatchObject({ meta: { total: 1 } });
  await has('post', 'deleted');
  expect((await posts.read(second.id))?.title).toBe('Two');
  expect(errors).toEqual([]);
});

browserTest('a change that the server refuses is taken back, with messages for the fields', 60_000, async () => {
  const first = await posts.create({ title: 'One' });
  const { run, has, errors } = await openPage(context, address);
  await has('posts', 'One');
  const title = 'x'.repeat(50);
  const code = await run(
    ({ mutation }, [id, title]) => mutation.update(id, { title }).catch((error: { code: string }) => error.code),
    [first.id, title],
  );
  expect(code).toBe('VALIDATION_ERROR');
  await has('posts', 'One');
  expect(await run(({ shown }) => [...shown])).toContain(`posts: ${title}`);
  await expect.poll(() => run(({ mutation }) => mutation.error?.details.title)).toMatch(/40/);

  // A conflict: another client has changed the record since it was read.
  const stale = await run(({ posts }) => posts.data[0]);
  await posts.update(first.id, { title: 'Newer' });
  await run(
    ({ mutation }, [id, ifMatch]) => void mutation.update(id, { title: 'Mine' }, { ifMatch }),
    [first.id, stale],
  );
  await has('error', 'PRECONDITION_FAILED ');
  await has('posts', 'Newer');
  expect(errors).toEqual([]);
});

browserTest(
  'a record leaves a filtered list at once, and does not return before the server has answered',
  60_000,
  async () => {
    const first = await posts.create({ title: 'One', views: 2 });
    await posts.create({ title: 'Two' });
    const { page, run, has } = await openPage(context, address);
    await has('posts', 'One, Two');
    const release = await hold(page, 'PATCH');
    await run(({ mutation, shown }, id) => {
      shown.clear();
      void mutation.update(id, { status: 'draft' });
    }, first.id);
    await has('posts', 'Two');
    release();
    await expect.poll(() => run(({ mutation }) => mutation.isPending)).toBe(false);
    await expect.poll(() => run(({ posts }) => posts.isFetching)).toBe(false);
    expect((await run(({ shown }) => [...shown])).filter((text: string) => text.startsWith('posts:'))).toEqual([
      'posts: Two',
    ]);
  },
);

browserTest(
  'mutations of one record reach the server in their order, and are no conflict with each other',
  60_000,
  async () => {
    const first = await posts.create({ title: 'One' });
    const { page, run, has, requests } = await openPage(context, address);
    await has('posts', 'One');
    const release = await hold(page, 'PATCH');
    const results = run(({ mutation, posts }, id) => {
      const options = { ifMatch: posts.data[0] };
      return Promise.all(['A', 'B', 'C'].map((title) => mutation.update(id, { title }, options)));
    }, first.id);
    await has('posts', 'C');
    await expect.poll(() => requests.filter((one) => one.startsWith('PATCH'))).toHaveLength(1);
    release();
    expect((await results).map(({ title }: { title: string }) => title)).toEqual(['A', 'B', 'C']);
    expect((await posts.read(first.id))?.title).toBe('C');
    await has('posts', 'C');
    await has('error', 'none');
  },
);

browserTest('a created record is announced until the list contains it', 60_000, async () => {
  const { page, run, has } = await openPage(context, address);
  await has('posts', '');
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/api/posts', async (route) => {
    if (route.request().method() === 'POST') await released;
    await route.continue();
  });
  await run(({ mutation }) => void mutation.create({ title: 'New' }));
  await has('creating', 'New');
  release();
  await has('posts', 'New');
  await has('creating', '');
});

browserTest('a live list and record follow the changes of another tab, and are not loaded again', 120_000, async () => {
  await posts.create({ title: 'Old', views: 5 });
  const [one, two] = [await openPage(context, `${address}&live`), await openPage(context, `${address}&live`)];
  await Promise.all([one, two].map(({ has }) => has('status', 'live')));
  const loads = () => two.requests.filter((request) => request === 'GET /posts').length;
  const before = loads();
  const { id } = await one.run(({ mutation }) => mutation.create({ title: 'New', views: 9 }));
  await two.has('posts', 'New, Old');
  await two.run(({ selectRecord }, record) => selectRecord(record), id);
  await two.has('post', 'New');
  await one.run(({ mutation }, record) => mutation.update(record, { title: 'Newer', views: 1 }), id);
  await two.has('posts', 'Old, Newer');
  await two.has('post', 'Newer');
  await one.has('posts', 'Old, Newer');
  await one.run(({ mutation }, record) => mutation.remove(record), id);
  await two.has('posts', 'Old');
  await two.has('post', 'deleted');
  // The other list of the page, which is not live, is not part of this count: it is loaded only when the page opens.
  expect(loads()).toBe(before);
  expect([...one.errors, ...two.errors]).toEqual([]);
});

browserTest('a live list never shows an older state again after a mutation', 60_000, async () => {
  const { id } = await posts.create({ title: 'One' });
  const { run, has } = await openPage(context, `${address}&live`);
  await has('status', 'live');
  await has('posts', 'One');
  await run(({ mutation, shown }, record) => {
    shown.clear();
    void mutation.update(record, { title: 'Two' });
  }, id);
  await has('posts', 'Two');
  await posts.create({ title: 'Other' });
  await expect.poll(() => run(({ followed }) => followed.data.length)).toBe(2);
  await expect.poll(() => run(({ mutation }) => mutation.isPending)).toBe(false);
  const texts: string[] = await run(({ shown }) => [...shown]);
  expect(texts.filter((text) => text.startsWith('posts:') && text.includes('One'))).toEqual([]);
});

browserTest('without realtime, live lists and records are loaded once, without an error', 60_000, async () => {
  const { id } = await posts.create({ title: 'One' });
  await context.route('**/api/realtime*', (route) =>
    route.fulfill({
      status: 404,
      headers: { 'access-control-allow-origin': '*' },
      json: { error: { code: 'NOT_FOUND', message: 'Not found' } },
    }),
  );
  const { run, has } = await openPage(context, `${address}&live`);
  await has('posts', 'One');
  await has('status', 'closed');
  await run(({ selectRecord }, record) => selectRecord(record), id);
  await has('post', 'One');
  expect(await run(({ followed, post }) => [followed.error, post.error, followed.liveError.code])).toEqual([
    null,
    null,
    'NOT_FOUND',
  ]);
});

browserTest('a created record is announced until the live list contains it', 60_000, async () => {
  const { run, has } = await openPage(context, `${address}&live`);
  await has('status', 'live');
  await run(({ mutation, shown }) => {
    shown.clear();
    void mutation.create({ title: 'New' });
  });
  await has('posts', 'New');
  await has('creating', '');
  const texts: string[] = await run(({ shown }) => [...shown]);
  const [announced, listed] = ['creating: New', 'posts: New'].map((text) => texts.indexOf(text));
  expect(announced).toBeGreaterThan(-1);
  expect(listed).toBeGreaterThan(announced!);
  expect(texts.slice(announced, listed)).not.toContain('creating: ');
});

browserTest('a live list whose stream does not open is loaded without it', 60_000, async () => {
  await posts.create({ title: 'One' });
  await context.route('**/api/realtime*', () => new Promise(() => {}));
  const { has } = await openPage(context, `${address}&live`);
  await has('posts', 'One');
  await has('status', 'loading');
});

browserTest(
  'a former list is shown until the list of a changed query is loaded, but never that of another user',
  60_000,
  async () => {
    await posts.create({ title: 'Draft', status: 'draft', views: 2 });
    await posts.create({ title: 'Published', views: 1 });
    const { run, has } = await openPage(context, `${address}&keep`);
    await has('posts', 'Published');
    await run(({ shown, setWhere }) => {
      shown.clear();
      setWhere(undefined);
    });
    await has('posts', 'Draft, Published');
    const texts: string[] = await run(({ shown }) => [...shown]);
    expect(texts.filter((text) => text.startsWith('posts:'))).toEqual(['posts: Published', 'posts: Draft, Published']);
    const ada = await person('Ada');
    await run(({ shown }) => shown.clear());
    await run(signIn, ada.email);
    await has('session', 'Ada');
    await has('posts', 'Draft, Published');
    expect(await run(({ shown }) => [...shown])).toContain('posts: pending');
  },
);

browserTest(
  'a page in strict mode opens one stream, and closes it with the last component that needs it',
  60_000,
  async () => {
    await posts.create({ title: 'Old' });
    const ada = await person('Ada');
    const first = await openPage(context, address);
    await first.run(signIn, ada.email);
    await first.page.close();
    const { page, run, has, requests } = await openPage(context, `${address}&live`);
    await has('status', 'live');
    await expect.poll(() => run(({ notes }) => notes.liveStatus)).toBe('live');
    const closed = new Promise<void>((resolve) => {
      page.on('requestfailed', (request) => {
        if (request.url().includes('/api/realtime')) resolve();
      });
    });
    expect(requests.filter((one) => one.startsWith('GET /realtime'))).toHaveLength(1);
    await run(({ setOpen }) => setOpen(false));
    await closed;
    expect(requests.filter((one) => one.startsWith('GET /realtime'))).toHaveLength(1);
  },
);

browserTest('after a sign-out or a change of the user, no tab shows a record of the former user', 120_000, async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  await ada.call('POST', '/api/notes', { text: 'of Ada' });
  await bob.call('POST', '/api/notes', { text: 'of Bob' });
  const [one, two] = [await openPage(context, `${address}&live`), await openPage(context, `${address}&live`)];
  await one.has('session', 'signed out');
  await one.has('notes', 'UNAUTHORIZED');
  await one.run(signIn, ada.email);
  for (const { has } of [one, two]) {
    await has('session', 'Ada');
    await has('notes', 'of Ada');
  }
  await two.run(({ shown }) => shown.clear());
  await one.run(({ client }) => client.auth.signOut());
  await two.has('session', 'signed out');
  await two.has('notes', 'UNAUTHORIZED');
  await one.run(signIn, bob.email);
  await two.has('session', 'Bob');
  await two.has('notes', 'of Bob');
  // What was shown together with the session of Ada is not in the cache any more.
  const cached = await two.run(({ queryClient }) =>
    JSON.stringify(
      queryClient
        .getQueryCache()
        .getAll()
        .map(({ state }: { state: { data: unknown } }) => state.data),
    ),
  );
  expect(cached).toContain('of Bob');
  expect(cached).not.toContain('of Ada');
  expect([...one.errors, ...two.errors]).toEqual([]);
});
