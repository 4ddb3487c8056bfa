import type { Express, NextFunction, Request, Response } from 'express';
import { z } from 'zod';
import {
  AGGREGATE,
  type AggregateRow,
  type ArticleRow,
  aggregateInput,
  COUNT,
  CREATE,
  createInput,
  createValues,
  FIND_SESSION,
  hashToken,
  isId,
  LIST,
  listInput,
  newId,
  READ,
  toArticle,
  UPDATE,
  type User,
  updateInput,
} from './articles.ts';

/** How a baseline queries Postgres: statements are prepared by name. */
export interface Sql {
  read<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]>;
  write<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]>;
}

class HttpError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

const BEARER = /^bearer (\S+)$/i;

function authenticate(sql: Sql) {
  return async (req: Request, res: Response, next: NextFunction) => {
    const token = BEARER.exec(req.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new HttpError(401, 'UNAUTHORIZED');
    const [user] = await sql.read<User>('session', FIND_SESSION, [hashToken(token)]);
    if (user === undefined || user.status !== 'active') throw new HttpError(401, 'UNAUTHORIZED');
    res.locals.user = user;
    next();
  };
}

/** The operations, written by hand: session look-up, validation, statement, response. */
export function addRoutes(app: Express, sql: Sql): void {
  app.use('/api', authenticate(sql));

  app.get('/api/articles/aggregate', async (req, res) => {
    const { limit } = aggregateInput.parse(req.query);
    // One more group shows whether there are more.
    const rows = await sql.read<AggregateRow>('aggregate', AGGREGATE, [limit + 1]);
    const data = rows.slice(0, limit).map(({ category, count, sum }) => ({
      group: { category },
      count,
      sum: { views: sum },
    }));
    res.json({ data, meta: { groups: rows.length, truncated: rows.length > limit } });
  });

  app.get('/api/articles/:id', async (req, res) => {
    if (!isId(req.params.id)) throw new HttpError(404, 'NOT_FOUND');
    const [row] = await sql.read<ArticleRow>('read', READ, [req.params.id]);
    if (row === undefined) throw new HttpError(404, 'NOT_FOUND');
    res.json({ data: toArticle(row) });
  });

  app.get('/api/articles', async (req, res) => {
    const { category, count, page, limit } = listInput.parse(req.query);
    const values = [category, limit, (page - 1) * limit];
    if (count === 'none') {
      const rows = await sql.read<ArticleRow>('list', LIST, values);
      return void res.json({ data: rows.map(toArticle), meta: { limit } });
    }
    const [rows, [counted]] = await Promise.all([
      sql.read<ArticleRow>('list', LIST, values),
      sql.read<{ count: string }>('count', COUNT, [category]),
    ]);
    const total = Number(counted?.count);
    res.json({ data: rows.map(toArticle), meta: { total, page, limit, pages: Math.ceil(total / limit) } });
  });

  app.post('/api/articles', async (req, res) => {
    const input = createInput.parse(req.body);
    const [row] = await sql.write<ArticleRow>('create', CREATE, createValues(input, res.locals.user));
    res.status(201).json({ data: toArticle(row!) });
  });

  app.patch('/api/articles/:id', async (req, res) => {
    if (!isId(req.params.id)) throw new HttpError(404, 'NOT_FOUND');
    const { title = null, views = null } = updateInput.parse(req.body);
    const values = [req.params.id, res.locals.user.id, title, views, newId()];
    const [row] = await sql.write<ArticleRow>('update', UPDATE, values);
    if (row === undefined) throw new HttpError(404, 'NOT_FOUND');
    res.json({ data: toArticle(row) });
  });

  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
    if (error instanceof z.ZodError) {
      res.status(422).json({ error: { code: 'VALIDATION_ERROR', details: z.flattenError(error).fieldErrors } });
    } else if (error instanceof HttpError) res.status(error.status).json({ error: { code: error.code } });
    else {
      console.error(error);
      res.status(500).json({ error: { code: 'INTERNAL' } });
    }
  });
}
