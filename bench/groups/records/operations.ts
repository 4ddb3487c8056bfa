import type { Shot } from '../../measure/load.ts';
import { ARTICLES, articleId, CATEGORIES, newArticle, tokenOf, USERS } from '../../setup/seed.ts';

/** The measured operations. */
export type Operation = 'read' | 'list' | 'create' | 'update';

let made = 0;

const below = (count: number) => Math.floor(Math.random() * count);

/** Returns the next request of a connection, by operation. Each connection is signed in as its own user. */
export const OPERATIONS: Record<Operation, (connection: number) => Shot> = {
  read: (connection) => ({
    method: 'GET',
    path: `/api/articles/${articleId(below(ARTICLES))}`,
    token: tokenOf(connection % USERS),
    status: 200,
  }),
  list: (connection) => ({
    method: 'GET',
    path: `/api/articles?category=category-${below(CATEGORIES)}&sort=-createdAt&limit=20`,
    token: tokenOf(connection % USERS),
    status: 200,
  }),
  create: (connection) => ({
    method: 'POST',
    path: '/api/articles',
    token: tokenOf(connection % USERS),
    body: newArticle(made++),
    status: 201,
  }),
  update(connection) {
    const user = connection % USERS;
    const own = below(ARTICLES / USERS) * USERS + user;
    const body = JSON.stringify({ title: `Changed ${made++}`, views: made });
    return { method: 'PATCH', path: `/api/articles/${articleId(own)}`, token: tokenOf(user), body, status: 200 };
  },
};
