import type { Bench } from '../../figure.ts';
import type { LoadRequest } from '../../measure/load.ts';
import type { Child } from '../../setup/children.ts';
import { ARTICLES, getUserEmail, PASSWORD, USERS } from '../../setup/seed.ts';
import { PAGE_SIZE, pickArticle, SEEDED_COLUMNS, SEEDED_NUMBERS } from '../articles.ts';
import { changeAndSettle, createPeerDatabase } from '../database.ts';
import { post } from '../http.ts';
import type { AccountApi, Article, ArticleApi, Server } from '../side.ts';

interface User {
  id: number;
  token: string;
}

const SEED = `
  insert into articles (id, title, body, category, status, views, author_id, created_at, updated_at)
  select n + 1, ${SEEDED_COLUMNS.title}, ${SEEDED_COLUMNS.body}, ${SEEDED_COLUMNS.category},
    'published', n, author::int, time, time
  from ${SEEDED_NUMBERS}`;
const SEED_TAGS = `
  insert into articles_texts ("order", parent_id, path, text)
  select "order", n, 'tags', tag from generate_series(1, ${ARTICLES}) n, (values (1, 'bench'), (2, 'seeded')) tags("order", tag)`;
// Ids of new articles follow those of the seed.
const ADVANCE = `select setval('articles_id_seq', ${ARTICLES})`;

function createArticleApi(users: readonly User[]): ArticleApi {
  const authorize = (user: number) => ({ authorization: `JWT ${users[user]!.token}` });
  return {
    read: (user, article) => ({
      method: 'GET',
      path: `/api/articles/${article + 1}?depth=0`,
      headers: authorize(user),
      status: 200,
    }),
    list(user, category, isCounted): LoadRequest {
      const where = `where[category][equals]=${category}`;
      const count = isCounted ? '' : '&pagination=false';
      const path = `/api/articles?depth=0&${where}&sort=-createdAt&limit=${PAGE_SIZE}${count}`;
      return { method: 'GET', path, headers: authorize(user), status: 200 };
    },
    create: (user, article) => ({
      method: 'POST',
      path: '/api/articles?depth=0',
      headers: authorize(user),
      body: JSON.stringify({ ...article, author: users[user]!.id }),
      status: 201,
    }),
    update: (user, article, changes) => ({
      method: 'PATCH',
      path: `/api/articles/${article + 1}?depth=0`,
      headers: authorize(user),
      body: JSON.stringify(changes),
      status: 200,
    }),
    parseArticle: (response) => pickArticle(response as Article),
    parsePage(response) {
      const { docs, totalDocs } = response as { docs: Article[]; totalDocs: number };
      return { articles: docs.map(pickArticle), total: totalDocs };
    },
  };
}

function createAccountApi(users: readonly User[]): AccountApi {
  return {
    readSession: (user) => ({
      method: 'GET',
      path: '/api/users/me',
      headers: { authorization: `JWT ${users[user]!.token}` },
      status: 200,
    }),
    signIn: (user, password) => ({
      method: 'POST',
      path: '/api/users/login',
      body: JSON.stringify({ email: getUserEmail(user), password }),
      status: 200,
    }),
    isUser: (user, response) => JSON.stringify(response).includes(`"${getUserEmail(user)}"`),
  };
}

async function signUp({ url }: Child, user: number): Promise<User> {
  const credentials = { email: getUserEmail(user), password: PASSWORD };
  const { doc } = await post<{ doc: { id: number } }>(url, '/api/users', credentials, { status: 201 });
  const { token } = await post<{ token: string }>(url, '/api/users/login', credentials, { status: 200 });
  return { id: doc.id, token };
}

/** Starts Payload with a seeded database. */
export async function startPayload(bench: Bench): Promise<Server> {
  const databaseUrl = await createPeerDatabase(bench.servers, 'payload');
  const program = new URL('../processes/payload.ts', import.meta.url);
  const start = (mode: string) => bench.children.start(program, { DATABASE_URL: databaseUrl, NODE_ENV: mode });
  // Only in development does it create its tables by itself.
  await (await start('development')).stop();
  const server = await start('production');
  const users: User[] = [];
  for (let user = 0; user < USERS; user++) users.push(await signUp(server, user));
  await changeAndSettle(databaseUrl, [[SEED, [users.map(({ id }) => String(id))]], [SEED_TAGS], [ADVANCE]]);
  return {
    process: server,
    articles: createArticleApi(users),
    accounts: createAccountApi(users),
    reset: () => changeAndSettle(databaseUrl, [[`delete from articles where id > ${ARTICLES}`]]),
  };
}
