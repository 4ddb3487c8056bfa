import { ARTICLES, CATEGORIES, USERS } from '../setup/seed.ts';
import type { Article } from './side.ts';

/** Articles on a page. */
export const PAGE_SIZE = 20;

const BODY = 'The bells of the old town ring at noon. '.repeat(8);

export const getCategory = (number: number) => `category-${number % CATEGORIES}`;

/** Returns a seeded article, as in the database of Belfry. */
export function createSeededArticle(number: number): Article {
  const tags = ['bench', 'seeded'];
  return {
    title: `Article ${number}`,
    body: BODY,
    category: getCategory(number),
    status: 'published',
    tags,
    views: number,
  };
}

/** Returns a new article. */
export function createNewArticle(number: number): Article {
  return { ...createSeededArticle(number), tags: ['bench', 'new'], views: 0 };
}

/** Returns the fields of an article that all sides have. */
export function pickArticle({ title, body, category, status, tags, views }: Article): Article {
  return { title, body, category, status, tags, views };
}

/** Numbers of articles with their author and time, for statements that fill a peer's table. `$1`: the ids of the users. */
export const SEEDED_NUMBERS = `(
  select n, ($1::text[])[n % ${USERS} + 1] as author, now() - n * interval '1 minute' as time
  from generate_series(0, ${ARTICLES - 1}) n) numbers`;

/** The columns of a seeded article as SQL expressions of `n`. */
export const SEEDED_COLUMNS = {
  title: `'Article ' || n`,
  body: `'${BODY}'`,
  category: `'category-' || n % ${CATEGORIES}`,
};
