import type { LoadRequest } from '../../measure/load.ts';
import { ARTICLES, CATEGORIES, createArticleJson, getArticleId, getSessionToken, USERS } from '../../setup/seed.ts';

/** The measured operations. */
export type Operation = 'read' | 'list' | 'list.uncounted' | 'create' | 'update';

let created = 0;

const randomBelow = (count: number) => Math.floor(Math.random() * count);

const createList = (connection: number, parameters = ''): LoadRequest => ({
  method: 'GET',
  path: `/api/articles?category=category-${randomBelow(CATEGORIES)}&sort=-createdAt&limit=20${parameters}`,
  token: getSessionToken(connection % USERS),
  status: 200,
});

/** Returns the next request of a connection, by operation. Each connection is signed in as its own user. */
export const OPERATIONS: Record<Operation, (connection: number) => LoadRequest> = {
  read: (connection) => ({
    method: 'GET',
    path: `/api/articles/${getArticleId(randomBelow(ARTICLES))}`,
    token: getSessionToken(connection % USERS),
    status: 200,
  }),
  list: (connection) => createList(connection),
  'list.uncounted': (connection) => createList(connection, '&count=none'),
  create: (connection) => ({
    method: 'POST',
    path: '/api/articles',
    token: getSessionToken(connection % USERS),
    body: createArticleJson(created++),
    status: 201,
  }),
  update(connection) {
    const user = connection % USERS;
    const articleNumber = randomBelow(ARTICLES / USERS) * USERS + user;
    const body = JSON.stringify({ title: `Changed ${created++}`, views: created });
    return {
      method: 'PATCH',
      path: `/api/articles/${getArticleId(articleNumber)}`,
      token: getSessionToken(user),
      body,
      status: 200,
    };
  },
};
