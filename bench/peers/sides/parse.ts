import type { Bench } from '../../figure.ts';
import type { LoadRequest } from '../../measure/load.ts';
import { getArticleId, getUserEmail, PASSWORD, USERS } from '../../setup/seed.ts';
import { PAGE_SIZE, pickArticle, SEEDED_COLUMNS, SEEDED_NUMBERS } from '../articles.ts';
import { changeAndSettle, createPeerDatabase } from '../database.ts';
import { post } from '../http.ts';
import type { AccountApi, Article, ArticleApi, Server } from '../side.ts';

const APP = { 'x-parse-application-id': 'bench' };

interface User {
  objectId: string;
  sessionToken: string;
}

const SEED = `
  insert into "Article" ("objectId", "createdAt", "updatedAt", title, body, category, status, tags, views, author, _rperm, _wperm)
  select 'a' || lpad(to_hex(n), 23, '0'), time, time, ${SEEDED_COLUMNS.title}, ${SEEDED_COLUMNS.body}, ${SEEDED_COLUMNS.category},
    'published', '["bench", "seeded"]', n, author, '{*}', array[author]
  from ${SEEDED_NUMBERS}`;

function createArticleApi(users: readonly User[], authorize: (user: number) => Record<string, string>): ArticleApi {
  const toBody = (value: object) => JSON.stringify(value);
  return {
    read: (user, article) => ({
      method: 'GET',
      path: `/classes/Article/${getArticleId(article)}`,
      headers: authorize(user),
      status: 200,
    }),
    list(user, category, isCounted): LoadRequest {
      const where = encodeURIComponent(JSON.stringify({ category }));
      const path = `/classes/Article?where=${where}&order=-createdAt&limit=${PAGE_SIZE}${isCounted ? '&count=1' : ''}`;
      return { method: 'GET', path, headers: authorize(user), status: 200 };
    },
    create(user, article): LoadRequest {
      const { objectId } = users[user]!;
      const author = { __type: 'Pointer', className: '_User', objectId };
      const ACL = { '*': { read: true }, [objectId]: { write: true } };
      const body = toBody({ ...article, author, ACL });
      return { method: 'POST', path: '/classes/Article', headers: authorize(user), body, status: 201 };
    },
    update: (user, article, changes) => ({
      method: 'PUT',
      path: `/classes/Article/${getArticleId(article)}`,
      headers: authorize(user),
      body: toBody(changes),
      status: 200,
    }),
    parseArticle: (response) => pickArticle(response as Article),
    parsePage(response) {
      const { results, count } = response as { results: Article[]; count?: number };
      return { articles: results.map(pickArticle), total: count };
    },
  };
}

function createAccountApi(users: readonly User[], authorize: (user: number) => Record<string, string>): AccountApi {
  return {
    readSession: (user) => ({ method: 'GET', path: '/users/me', headers: authorize(user), status: 200 }),
    signIn: (user, password) => ({
      method: 'POST',
      path: '/login',
      headers: APP,
      body: JSON.stringify({ username: getUserEmail(user), password }),
      status: 200,
    }),
    isUser: (user, response) => (response as Partial<User>).objectId === users[user]!.objectId,
  };
}

/** Starts Parse Server with a seeded database. */
export async function startParse(bench: Bench): Promise<Server> {
  const databaseUrl = await createPeerDatabase(bench.servers, 'parse');
  const program = new URL('../processes/parse.ts', import.meta.url);
  const server = await bench.children.start(program, {
    DATABASE_URL: databaseUrl,
    NODE_ENV: 'production',
    // Its logger begins before the options are known.
    PARSE_SERVER_LOGS_FOLDER: 'null',
    PARSE_SERVER_SILENT: '1',
  });
  const users: User[] = [];
  for (let user = 0; user < USERS; user++) {
    const account = { username: getUserEmail(user), email: getUserEmail(user), password: PASSWORD };
    users.push(await post<User>(server.url, '/users', account, { status: 201, headers: APP }));
  }
  const ids = users.map(({ objectId }) => objectId);
  await changeAndSettle(databaseUrl, [['create index on "Article" (category, "createdAt" desc)'], [SEED, [ids]]]);
  const authorize = (user: number) => ({ ...APP, 'x-parse-session-token': users[user]!.sessionToken });
  return {
    process: server,
    articles: createArticleApi(users, authorize),
    accounts: createAccountApi(users, authorize),
    reset: () => changeAndSettle(databaseUrl, [[`delete from "Article" where "objectId" !~ '^a0{10}'`]]),
  };
}
