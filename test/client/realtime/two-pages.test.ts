import { afterAll, expect, test } from 'vitest';
import { ApiError, createClient } from '../../../packages/client/src/index.ts';
import { createApp, defineResource, defineUser, f, realtime } from '../../../src/index.ts';
import { browserTest, closePages, startBrowser } from '../../browser/browser.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { clientPages, newProfile, openShop, run } from '../auth/client-pages.ts';

const options = {
  resources: [
    defineUser(),
    defineResource('task', {
      fields: { title: f.string().required().sortable(), owner: f.ref('user').owner() },
      policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'owner' },
      scope: ({ user }) => ({ owner: user?.id }),
    }),
  ],
  extensions: [realtime(), clientPages()],
  settings: { rateLimit: { enabled: false } },
} as const;
const { app, env, url, person } = await startTestApp(options);
const tasks = app.service('task');

/** A process that only relays changes to streams. */
async function startRelay() {
  const relay = createApp(options, env);
  await relay.start({ roles: ['relay'] });
  return relay;
}
let relay = await startRelay();
afterAll(() => relay.close());

const password = 'correct horse battery';
const untilTitles = (titles: string[]) => `new Promise((resolve) => {
  const check = () => JSON.stringify(list.data.map(({ title }) => title)) === '${JSON.stringify(titles)}' && resolve(true);
  list.subscribe(check);
  check();
})`;

browserTest(
  'pages of two users show their own changes at once, also after a lost connection and a change of the user',
  120_000,
  async () => {
    const [ada, bob] = [await person('Ada'), await person('Bob')];
    const proxy = await startTcpProxy(new URL(url));
    const browser = await startBrowser();
    try {
      const [first, second] = [await newProfile(browser), await newProfile(browser)];
      const [pageOfAda, pageOfBob] = [await openShop(first, new URL(proxy.url).origin), await openShop(second, url)];
      const signIn = 'client.auth.signIn(given)';
      await run(pageOfAda, signIn, { email: ada.email, password });
      await run(pageOfBob, signIn, { email: bob.email, password });
      for (const page of [pageOfAda, pageOfBob])
        await page.evaluate(`window.list = client.tasks.liveList({ sort: ['title'] }); ${untilTitles([])}`);
      await run(pageOfBob, `client.tasks.create({ title: 'of Bob' })`);
      await run(pageOfAda, `client.tasks.create({ title: 'of Ada' })`);
      expect(await run(pageOfAda, untilTitles(['of Ada']))).toBe(true);
      expect(await run(pageOfBob, untilTitles(['of Bob']))).toBe(true);

      proxy.shut();
      await pageOfAda.evaluate(
        `new Promise((resolve) => list.status === 'reconnecting' ? resolve() : list.subscribe(() => list.status === 'reconnecting' && resolve()))`,
      );
      await tasks.create({ title: 'meanwhile', owner: ada.id });
      proxy.reopen();
      expect(await run(pageOfAda, untilTitles(['meanwhile', 'of Ada']))).toBe(true);

      await run(pageOfAda, 'client.auth.signOut()');
      await run(pageOfAda, signIn, { email: bob.email, password });
      expect(await run(pageOfAda, untilTitles(['of Bob']))).toBe(true);
      await tasks.create({ title: 'in both', owner: bob.id });
      for (const page of [pageOfAda, pageOfBob]) expect(await run(page, untilTitles(['in both', 'of Bob']))).toBe(true);
    } finally {
      await closePages(browser);
      proxy.close();
    }
  },
);

test('while the relay is restarted, live lists wait, and then show every change', async () => {
  const carol = await person('Carol');
  const client = createClient<typeof app>({ url, token: carol.token });
  const list = client.tasks.liveList({ sort: ['title'] });
  await expect.poll(() => list.status).toBe('live');
  await client.tasks.create({ title: 'a' });
  await expect.poll(() => list.data.map(({ title }) => title)).toEqual(['a']);
  await relay.close();
  await client.tasks.create({ title: 'b' });
  await client.tasks.update(list.data[0]!.id, { title: 'c' });
  relay = await startRelay();
  await expect.poll(() => list.data.map(({ title }) => title)).toEqual(['b', 'c']);
  expect(list.status).toBe('live');
  list.close();
});

test('a list that is closed before its code is loaded never opens a stream', async () => {
  const requested: string[] = [];
  const client = createClient({
    url,
    fetch: (target, init) => {
      requested.push(String(target));
      return fetch(target, init);
    },
  });
  const list = client.tasks!.liveList();
  let calls = 0;
  const stop = list.subscribe(() => {
    calls += 1;
  });
  expect([list.status, list.data, list.error]).toEqual(['loading', [], undefined]);
  list.close();
  expect([list.status, calls]).toEqual(['closed', 1]);
  stop();
  await expect(list.loadMore()).rejects.toThrow('closed');
  expect(requested).toEqual([]);
});

test('an invalid query is an error of the list, and an invalid filter one of the subscription', async () => {
  const client = createClient({ url });
  const list = client.tasks!.liveList({ limit: -1 });
  await expect.poll(() => list.status).toBe('closed');
  expect(list.error).toBeInstanceOf(ApiError);
  expect(list.error).toMatchObject({ code: 'CLIENT_ERROR', cause: expect.any(RangeError) });
  const errors: unknown[] = [];
  client.tasks!.subscribe({ id: '' }, { onError: (error) => errors.push(error) });
  await expect.poll(() => errors).toEqual([expect.any(TypeError)]);
});
