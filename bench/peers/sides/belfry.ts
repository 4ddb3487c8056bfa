import type { Bench } from '../../figure.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { resetDatabase } from '../../setup/database.ts';
import { getArticleId, getSessionToken, getUserEmail, seedDatabase } from '../../setup/seed.ts';
import { PAGE_SIZE, pickArticle } from '../articles.ts';
import type { AccountApi, Article, ArticleApi, Server } from '../side.ts';

const articles: ArticleApi = {
  read: (user, article) => ({
    method: 'GET',
    path: `/api/articles/${getArticleId(article)}`,
    token: getSessionToken(user),
    status: 200,
  }),
  list: (user, category, isCounted) => ({
    method: 'GET',
    path: `/api/articles?category=${category}&sort=-createdAt&limit=${PAGE_SIZE}${isCounted ? '' : '&count=none'}`,
    token: getSessionToken(user),
    status: 200,
  }),
  create: (user, article) => ({
    method: 'POST',
    path: '/api/articles',
    token: getSessionToken(user),
    body: JSON.stringify(article),
    status: 201,
  }),
  update: (user, article, changes) => ({
    method: 'PATCH',
    path: `/api/articles/${getArticleId(article)}`,
    token: getSessionToken(user),
    body: JSON.stringify(changes),
    status: 200,
  }),
  parseArticle: (response) => pickArticle((response as { data: Article }).data ?? response),
  parsePage(response) {
    const { data, meta } = response as { data: Article[]; meta: { total?: number } };
    return { articles: data.map(pickArticle), total: meta.total };
  },
};

const accounts: AccountApi = {
  readSession: (user) => ({ method: 'GET', path: '/api/auth/me', token: getSessionToken(user), status: 200 }),
  signIn: (user, password) => ({
    method: 'POST',
    path: '/api/auth/login',
    body: JSON.stringify({ email: getUserEmail(user), password }),
    status: 200,
  }),
  isUser: (user, response) => JSON.stringify(response).includes(`"${getUserEmail(user)}"`),
};

/** Starts Belfry with a seeded database. */
export async function startBelfryServer(bench: Bench): Promise<Server> {
  await seedDatabase(bench.servers);
  const server = await startBelfry(bench, 'web');
  return { process: server, articles, accounts, reset: () => resetDatabase(bench.servers.databaseUrl) };
}
