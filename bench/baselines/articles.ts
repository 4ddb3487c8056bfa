import { createHash } from 'node:crypto';
import { ObjectId } from 'bson';
import { z } from 'zod';

// Shared by the handwritten and the lean API: the same statements on the same tables as Belfry's, and the same validation rules.

const COLUMNS = 'id, title, body, category, status, tags, views, author, created_at, updated_at';
const OUTBOX = 'insert into outbox (event_id, name, resource, record_id, user_id, payload)';

export const FIND_SESSION = `
  select u.id, u.name, u.email, u.roles, u.status, s.id as session_id, s.last_used_at
  from sessions s join users u on u.id = s.user_id
  where s.token_hash = $1 and s.expires_at > now()`;

export const READ = `select ${COLUMNS} from articles where id = $1`;

export const LIST = `
  select ${COLUMNS} from articles where category = $1 order by created_at desc, id desc limit $2 offset $3`;
export const COUNT = 'select count(*) from articles where category = $1';

export const AGGREGATE = `
  select category, count(*)::int, sum(views)::float8 from articles group by category order by category limit $1`;

// Record and event in one statement and one commit. An awaited transaction would be half as fast.
export const CREATE = `
  with r as (
    insert into articles (id, title, body, category, status, tags, views, author)
    values ($1, $2, $3, $4, $5, $6, $7, $8) returning *
  ), o as (
    ${OUTBOX} select $9, 'article.created', 'article', r.id, r.author, jsonb_build_object('record', to_jsonb(r)) from r
  ) select ${COLUMNS} from r`;

export const UPDATE = `
  with old as (
    select * from articles where id = $1 and author = $2 for update
  ), r as (
    update articles a set title = coalesce($3, a.title), views = coalesce($4, a.views), updated_at = now()
    from old where a.id = old.id returning a.*
  ), o as (
    ${OUTBOX} select $5, 'article.updated', 'article', r.id, $2,
      jsonb_build_object('record', to_jsonb(r), 'previous', to_jsonb(old)) from r, old
  ) select ${COLUMNS} from r`;

const title = z.string().trim().min(1).max(200);
const views = z.int().min(0);

export const createInput = z.strictObject({
  title,
  body: z.string().max(20_000).optional(),
  category: z.string().trim().max(40).optional(),
  status: z.enum(['draft', 'published']).default('draft'),
  tags: z.array(z.string().trim().max(40)).max(10).optional(),
  views: views.default(0),
});

export const updateInput = z.strictObject({ title: title.optional(), views: views.optional() });

export const listInput = z.strictObject({
  category: z.string().max(40),
  sort: z.literal('-createdAt').optional(),
  count: z.literal('none').optional(),
  page: z.coerce.number().int().min(1).default(1),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

export const aggregateInput = z.strictObject({
  group: z.literal('category'),
  count: z.literal(''),
  sum: z.literal('views'),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const ID = /^[0-9a-f]{24}$/;

export const isId = (id: unknown): id is string => typeof id === 'string' && ID.test(id);

export const newId = () => new ObjectId().toHexString();

export const hashToken = (token: string) => createHash('sha256').update(token).digest('hex');

/** A signed-in user, as the session look-up returns it. */
export interface User {
  id: string;
  status: string;
}

/** A row of `articles`. */
export interface ArticleRow {
  id: string;
  title: string;
  body: string | null;
  category: string | null;
  status: string;
  tags: string[] | null;
  views: number;
  author: string;
  created_at: Date | string;
  updated_at: Date | string;
}

/** A row of `AGGREGATE`. */
export interface AggregateRow {
  category: string | null;
  count: number;
  sum: number;
}

/** A row as sent in a response. Fields without a value are omitted, as in JSON. */
export function toArticle(row: ArticleRow) {
  return {
    id: row.id,
    title: row.title,
    body: row.body ?? undefined,
    category: row.category ?? undefined,
    status: row.status,
    tags: row.tags ?? undefined,
    views: Number(row.views),
    author: row.author,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The parameters of `CREATE`. */
export function createValues(input: z.output<typeof createInput>, user: User): unknown[] {
  const { body = null, category = null, tags = null } = input;
  return [newId(), input.title, body, category, input.status, tags, input.views, user.id, newId()];
}
