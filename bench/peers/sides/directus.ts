import type { Bench } from '../../figure.ts';
import type { LoadRequest } from '../../measure/load.ts';
import { getUserEmail, PASSWORD } from '../../setup/seed.ts';
import { PAGE_SIZE, pickArticle, SEEDED_COLUMNS, SEEDED_NUMBERS } from '../articles.ts';
import { changeAndSettle } from '../database.ts';
import { sendExpecting } from '../http.ts';
import type { AccountApi, Article, ArticleApi, Server } from '../side.ts';
import { createCollectionAndUsers, startEmptyDirectus } from './directus-setup.ts';

interface User {
  id: string;
  token: string;
}

const ID_PREFIX = 'a0000000-0000-4000-8000-';

const getId = (article: number) => `${ID_PREFIX}${article.toString(16).padStart(12, '0')}`;

const SEED = `
  insert into articles (id, title, body, category, status, tags, views, author, created_at, updated_at)
  select ('${ID_PREFIX}' || lpad(to_hex(n), 12, '0'))::uuid, ${SEEDED_COLUMNS.title}, ${SEEDED_COLUMNS.body}, ${SEEDED_COLUMNS.category},
    'published', '["bench","seeded"]', n, author::uuid, time, time
  from ${SEEDED_NUMBERS}`;

function createArticleApi(users: readonly User[]): ArticleApi {
  return {
    read: (user, article) => ({
      method: 'GET',
      path: `/items/articles/${getId(article)}`,
      token: users[user]!.token,
      status: 200,
    }),
    list(user, category, isCounted): LoadRequest {
      const query = `filter[category][_eq]=${category}&sort=-created_at&limit=${PAGE_SIZE}`;
      const path = `/items/articles?${query}${isCounted ? '&meta=filter_count' : ''}`;
      return { method: 'GET', path, token: users[user]!.token, status: 200 };
    },
    create: (user, article) => ({
      method: 'POST',
      path: '/items/articles',
      token: users[user]!.token,
      body: JSON.stringify(article),
      status: 200,
    }),
    update: (user, article, changes) => ({
      method: 'PATCH',
      path: `/items/articles/${getId(article)}`,
      token: users[user]!.token,
      body: JSON.stringify(changes),
      status: 200,
    }),
    parseArticle: (response) => pickArticle((response as { data: Article }).data),
    parsePage(response) {
      const { data, meta } = response as { data: Article[]; meta?: { filter_count: number } };
      return { articles: data.map(pickArticle), total: meta?.filter_count };
    },
  };
}

function createAccountApi(users: readonly User[]): AccountApi {
  return {
    readSession: (user) => ({ method: 'GET', path: '/users/me', token: users[user]!.token, status: 200 }),
    signIn: (user, password) => ({
      method: 'POST',
      path: '/auth/login',
      body: JSON.stringify({ email: getUserEmail(user), password, mode: 'session' }),
      status: 200,
    }),
    isUser: (user, response) => (response as { data: { id: string } }).data.id === users[user]!.id,
  };
}

/** Starts a session. Returns its token, which the server looks up with every request. */
async function openSession(url: string, signIn: LoadRequest): Promise<string> {
  const { cookies } = await sendExpecting(url, signIn);
  const [, token] = /^directus_session_token=(.+)$/.exec(cookies[0] ?? '') ?? [];
  if (token === undefined) throw new Error('Directus did not start a session.');
  return token;
}

/** Starts Directus with a seeded database. */
export async function startDirectus(bench: Bench): Promise<Server> {
  const { server, databaseUrl } = await startEmptyDirectus(bench);
  const ids = await createCollectionAndUsers(server.url);
  const users: User[] = ids.map((id) => ({ id, token: '' }));
  const accounts = createAccountApi(users);
  for (const [number, user] of users.entries())
    user.token = await openSession(server.url, accounts.signIn(number, PASSWORD));
  await changeAndSettle(databaseUrl, [['create index on articles (category, created_at desc)'], [SEED, [ids]]]);
  return {
    process: server,
    articles: createArticleApi(users),
    accounts,
    reset: () =>
      changeAndSettle(databaseUrl, [
        [`delete from articles where id::text not like '${ID_PREFIX}%'`],
        ['truncate directus_activity, directus_revisions'],
      ]),
  };
}
