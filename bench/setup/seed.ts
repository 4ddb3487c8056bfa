import { createHash } from 'node:crypto';
import type pg from 'pg';
import { createPasswordHasher } from '../../src/accounts/passwords/password-hash.ts';
import { createBenchApp } from '../apps/articles.ts';
import { withClient } from './database.ts';
import { createBelfryEnvironment, type Servers } from './environment.ts';

/** The contents of the database of a run. */
export const ARTICLES = 10_000;
export const USERS = 20;
export const CATEGORIES = 100;
export const PASSWORD = 'correct horse battery staple';
/** The cost of Belfry's password hashes. */
export const PASSWORD_COST = { logN: 15, r: 8, p: 3 };

const toIdDigits = (number: number) => number.toString(16).padStart(23, '0');

/** Returns the id of a seeded article, counted from 0. Its author is user `number % USERS`. */
export const getArticleId = (number: number) => `a${toIdDigits(number)}`;
export const getUserId = (number: number) => `b${toIdDigits(number)}`;
export const getUserEmail = (user: number) => `user${user}@example.com`;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Returns the session token of a user. */
export const getSessionToken = (user: number) => `svc_${sha256(`session of ${user}`)}`;

/** Returns the JSON of a new article. */
export function createArticleJson(number: number): string {
  const body = 'The bells of the old town ring at noon. '.repeat(8);
  const category = `category-${number % CATEGORIES}`;
  return JSON.stringify({ title: `Article ${number}`, body, category, status: 'published', tags: ['bench', 'new'] });
}

/** Inserts users and sessions. */
export async function insertUsers(client: pg.Client): Promise<void> {
  const hash = await createPasswordHasher(PASSWORD_COST).hash(PASSWORD);
  for (let user = 0; user < USERS; user++) {
    await client.query(
      `insert into users (id, name, email, password, roles, status, created_at, updated_at)
       values ($1, $2, $3, $4, '{user}', 'active', now(), now())`,
      [getUserId(user), `User ${user}`, getUserEmail(user), hash],
    );
    await client.query(
      `insert into sessions (id, user_id, token_hash, expires_at, ip, user_agent)
       values ($1, $2, $3, now() + interval '1 day', '127.0.0.1', 'bench')`,
      [`c${toIdDigits(user)}`, getUserId(user), sha256(getSessionToken(user))],
    );
  }
}

async function insertArticles(client: pg.Client): Promise<void> {
  await client.query(
    `insert into articles (id, title, body, category, status, tags, views, author, created_at, updated_at)
     select 'a' || lpad(to_hex(n), 23, '0'), 'Article ' || n, repeat('The bells of the old town ring at noon. ', 8),
       'category-' || (n % $2), 'published', '{bench,seeded}', n, 'b' || lpad(to_hex(n % $3), 23, '0'),
       now() - n * interval '1 minute', now() - n * interval '1 minute'
     from generate_series(0, $1::int - 1) n`,
    [ARTICLES, CATEGORIES, USERS],
  );
}

/**
 * Creates and fills the tables: 10,000 articles of 20 users in 100 categories, and a session for each user.
 *
 * @param environment more settings of the app, which may add tables
 */
export async function seedDatabase(servers: Servers, environment: Record<string, string> = {}): Promise<void> {
  const app = createBenchApp({ ...createBelfryEnvironment(servers), ...environment });
  await app.migrate({ mode: 'sync' });
  await app.close();
  await withClient(servers.databaseUrl, async (client) => {
    await insertUsers(client);
    await insertArticles(client);
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });
}
