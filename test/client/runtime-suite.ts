// The checks that run in every runtime of the client: a program without a test framework, and without APIs of one runtime.
import { ApiError, createClient } from '../../packages/client/src/index.ts';
import type { RuntimeApi } from './runtimes.test.ts';

/** What the program reports: the names of checks that passed, and the reasons of those that did not. */
export interface SuiteResult {
  passed: string[];
  failed: Record<string, string>;
}

/** All runtimes use the same app. */
const run = Math.random().toString(36).slice(2);

type Client = ReturnType<typeof createClient<RuntimeApi>>;

/** @throws Error unless both values have the same JSON */
function expectEqual(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
}

/** Returns the error with which a call rejects. */
async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => new Error('The call has not failed'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw error;
}

const CHECKS: Record<string, (client: Client, url: string) => Promise<void>> = {
  async 'records are written, read and deleted'({ posts }) {
    const created = await posts.create({ title: 'Ünïcode 🔔', views: 2 });
    expectEqual((await posts.get(created.id, { fields: ['title'] })).title, 'Ünïcode 🔔');
    expectEqual((await posts.update(created.id, { views: 3 })).views, 3);
    await posts.delete(created.id);
    expectEqual((await errorOf(posts.get(created.id))).code, 'NOT_FOUND');
  },
  async 'lists are filtered, paged and iterated'({ posts }) {
    const titles = ['L1', 'L2', 'L3'].map((title) => title + run);
    await posts.batch(titles.map((title) => ({ op: 'create', data: { title } }) as const));
    const page = await posts.list({ where: { title: { in: titles } }, sort: 'title', limit: 2 });
    expectEqual([page.data.length, page.meta.total], [2, 3]);
    expectEqual(
      (await page.next())?.data.map(({ title }) => title),
      titles.slice(2),
    );
    const seen: string[] = [];
    for await (const { title } of posts.each({ where: { title: titles }, sort: '-title', limit: 2 })) seen.push(title);
    expectEqual(seen, titles.reverse());
  },
  async 'errors have details and the id of the request'({ posts }) {
    const error = await errorOf(posts.create({ title: 'x'.repeat(300) }));
    expectEqual([error.status, error.code, Object.keys(error.details)], [422, 'VALIDATION_ERROR', ['title']]);
    expectEqual(typeof error.requestId, 'string');
  },
  async 'a write with an outdated record is refused, with and without timestamps'({ posts, notes }) {
    const post = await posts.create({ title: 'C' });
    await posts.update(post.id, { views: 1 }, { ifMatch: post });
    expectEqual((await errorOf(posts.update(post.id, { views: 2 }, { ifMatch: post }))).status, 412);
    const note = await notes.create({ text: 'C' });
    await notes.update(note.id, { text: 'D' }, { ifMatch: note });
    expectEqual((await errorOf(notes.delete(note.id, { ifMatch: note }))).status, 412);
  },
  async 'a create whose response was lost is repeated and creates one record'({ posts }, url) {
    let lost = 0;
    const losing: typeof fetch = async (target, init) => {
      const response = await fetch(target, init);
      if (++lost > 1) return response;
      throw new TypeError('The response was lost');
    };
    await createClient<RuntimeApi>({ url, fetch: losing }).posts.create({ title: run });
    expectEqual((await posts.list({ where: { title: run } })).meta.total, 1);
  },
  async 'a call ends by its time-out and by its signal'({ posts }, url) {
    const hanging: typeof fetch = () => new Promise(() => undefined);
    const slow = createClient<RuntimeApi>({ url, fetch: hanging, timeoutMs: 20 }).posts;
    expectEqual((await errorOf(slow.list())).code, 'TIMEOUT');
    const reason = new Error('The user left');
    const controller = new AbortController();
    const call = posts.list({}, { signal: controller.signal }).catch((error: unknown) => error);
    controller.abort(reason);
    expectEqual((await call) === reason, true);
  },
  async 'a redirect is not followed'({ posts }) {
    const error = await errorOf(posts.call('GET /elsewhere'));
    expectEqual([error.code, error.message.includes('a redirect')], ['INVALID_RESPONSE', true]);
  },
  async 'a redirect of an upload with progress is refused'(_, url) {
    const redirected = createClient<RuntimeApi>({ url: `${url}/api/posts/redirected` });
    const error = await errorOf(redirected.posts.upload('file', new Blob(['a']), { onProgress: () => undefined }));
    expectEqual([error.code, error.message.includes('a redirect')], ['INVALID_RESPONSE', true]);
  },
  async 'files are uploaded at once and resumably, with progress'({ posts }) {
    for (const resumable of [false, true]) {
      const sent: number[] = [];
      const content = new Blob([new Uint8Array(5_000_000)]);
      const onProgress = ({ sentBytes }: { sentBytes: number }) => sent.push(sentBytes);
      const file = await posts.upload('file', content, { name: 'ä.bin', resumable, onProgress });
      expectEqual([file.name, file.bytes, sent.at(-1)], ['ä.bin', 5_000_000, 5_000_000]);
      // Browsers report progress before the response arrives.
      if ('XMLHttpRequest' in globalThis) expectEqual(sent.length > 1, true);
      expectEqual((await posts.create({ title: 'F', file })).file?.bytes, 5_000_000);
    }
  },
  async 'a live list follows the changes of its records'({ posts }) {
    const title = `live ${run}`;
    const live = posts.liveList({ where: { title } });
    const changed = (isDone: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = () => isDone() && resolve();
        live.subscribe(check);
        check();
      });
    await changed(() => live.status === 'live');
    const { id } = await posts.create({ title });
    await changed(() => live.data.length === 1);
    expectEqual(live.data[0]?.id, id);
    await posts.delete(id);
    await changed(() => live.data.length === 0);
    live.close();
  },
  async 'a user registers, signs in and signs out'(client) {
    const [email, password] = [`${run}@example.com`, 'correct horse battery'];
    await client.auth.register({ name: 'Ada', email, password });
    expectEqual(client.auth.session?.user.name, 'Ada');
    await client.auth.signOut();
    expectEqual(client.auth.session, undefined);
    expectEqual((await client.auth.signIn({ email, password })).status, 'signedIn');
    await client.auth.signOut();
  },
};

/** Runs all checks against an app. */
export async function runSuite(url: string): Promise<SuiteResult> {
  const result: SuiteResult = { passed: [], failed: {} };
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      await check(createClient<RuntimeApi>({ url }), url);
      result.passed.push(name);
    } catch (error) {
      result.failed[name] = String((error as Error).stack ?? error);
    }
  }
  return result;
}
