import { isDeepStrictEqual } from 'node:util';
import type { LoadRequest } from '../measure/load.ts';
import { ARTICLES, CATEGORIES, PASSWORD } from '../setup/seed.ts';
import { createNewArticle, createSeededArticle, getCategory, PAGE_SIZE } from './articles.ts';
import { send, sendExpecting } from './http.ts';
import type { Article, ArticleApi, Side } from './side.ts';

const USER = 3;
const OTHER_USER = 4;
/** The author of this article is `USER`. */
const ARTICLE = 143;
const TOTAL = ARTICLES / CATEGORIES;

function assertEqual(what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${what} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/** Checks that a server asks who is signed in. */
async function assertRefused(url: string, what: string, load: LoadRequest): Promise<void> {
  const { status } = await send(url, load);
  if (status < 400 || status > 499) throw new Error(`${what} returned ${status}`);
}

const withoutCredentials = ({ token: _token, headers = {}, ...load }: LoadRequest): LoadRequest => {
  const kept = Object.entries(headers).filter(([name]) => !['authorization', 'x-parse-session-token'].includes(name));
  return { ...load, headers: Object.fromEntries(kept) };
};

async function verifyArticles(url: string, articles: ArticleApi): Promise<void> {
  const get = async (load: LoadRequest) => (await sendExpecting(url, load)).json;
  const readArticle = async () => articles.parseArticle(await get(articles.read(USER, ARTICLE)));
  const category = getCategory(ARTICLE);
  const readPage = async (isCounted: boolean) =>
    articles.parsePage(await get(articles.list(USER, category, isCounted)));

  assertEqual('the article', await readArticle(), createSeededArticle(ARTICLE));
  await assertRefused(url, 'a read without a session', withoutCredentials(articles.read(USER, ARTICLE)));

  const newest = Array.from({ length: PAGE_SIZE }, (_, n) =>
    createSeededArticle((ARTICLE % CATEGORIES) + n * CATEGORIES),
  );
  assertEqual('the page', await readPage(true), { articles: newest, total: TOTAL });
  assertEqual('the uncounted page', (await readPage(false)).articles, newest);

  const created: Article = createNewArticle(ARTICLE);
  await get(articles.create(USER, created));
  const page = await readPage(true);
  assertEqual('the first article after a create', page.articles[0], created);
  assertEqual('the total after a create', page.total, TOTAL + 1);

  const changes = { title: 'A changed title', views: 7 };
  await get(articles.update(USER, ARTICLE, changes));
  assertEqual('the changed article', await readArticle(), { ...createSeededArticle(ARTICLE), ...changes });
  const { title, views } = createSeededArticle(ARTICLE);
  await get(articles.update(USER, ARTICLE, { title, views }));
}

async function verifyAccounts({ process: { url }, accounts }: Side): Promise<void> {
  const { json } = await sendExpecting(url, accounts.readSession(USER));
  if (!accounts.isUser(USER, json) || accounts.isUser(OTHER_USER, json))
    throw new Error(`the session is not that of the user: ${JSON.stringify(json)}`);
  await sendExpecting(url, accounts.signIn(USER, PASSWORD));
  await assertRefused(url, 'a sign-in with a wrong password', accounts.signIn(USER, `not ${PASSWORD}`));
}

/**
 * Checks that a side does the work that will be measured.
 *
 * @throws if it does not: then its speed means nothing
 */
export async function verifySide(side: Side): Promise<void> {
  try {
    if (side.articles !== undefined) await verifyArticles(side.process.url, side.articles);
    await verifyAccounts(side);
    await side.reset();
  } catch (error) {
    throw new Error(`${side.title} does not do what is measured: ${(error as Error).message}`, { cause: error });
  }
}
