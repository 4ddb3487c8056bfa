// The baseline of lists that follow relations: express 5 and pg, with the SQL that an expert would write for each of them.
import express from 'express';
import pg from 'pg';
import { z } from 'zod';
import { reportReady, startHttpServer } from '../processes/child.ts';
import { FIND_SESSION, hashToken } from './articles.ts';

interface Row {
  id: string;
  created_at: Date;
  updated_at: Date;
}

interface List {
  columns: string;
  /** The rows of the list, as `from` and `where`. The viewer's id or the searched value is $1. */
  rows: string;
  /** The rows for a count, if another form is faster than that of the page. */
  countedRows?: string;
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const query = async <Result extends object>(name: string, text: string, values: unknown[]) =>
  (await pool.query<Result>({ name, text, values })).rows;

const TICKET_COLUMNS = 't.id, t.title, t.body, t.status, t.organisation, t.created_at, t.updated_at';
const COMMENT_COLUMNS = 'c.id, c.body, c.ticket, c.created_at, c.updated_at';
const ORGANISATION_COLUMNS = 'o.id, o.name, o.plan, o.created_at, o.updated_at';

const toRecord = ({ created_at, updated_at, ...fields }: Row) => ({
  ...fields,
  createdAt: created_at,
  updatedAt: updated_at,
});

// The fastest of several forms of each list on these tables. A subquery in `any(array(…))` runs once, before the table is read, but the
// planner does not know how many values it returns: for an organisation with few tickets it would read all tickets in the order of the list.
const LISTS: Record<string, List> = {
  'tickets.paid': {
    columns: TICKET_COLUMNS,
    rows: 'from tickets t join organisations o on o.id = t.organisation where o.plan = $1',
    countedRows: 'from tickets where organisation = any(array(select id from organisations where plan = $1))',
  },
  'tickets.trial': {
    columns: TICKET_COLUMNS,
    rows: 'from tickets t where t.organisation = any(array(select id from organisations where plan = $1))',
  },
  'tickets.name': {
    columns: TICKET_COLUMNS,
    rows: 'from tickets t join organisations o on o.id = t.organisation where o.name = $1',
  },
  'tickets.scope': {
    columns: TICKET_COLUMNS,
    rows: `from tickets t where t.organisation in (
      with own as materialized (select organisation from memberships where "user" = $1) select organisation from own)`,
    countedRows: 'from tickets where organisation = any(array(select organisation from memberships where "user" = $1))',
  },
  'comments.name': {
    columns: COMMENT_COLUMNS,
    rows: `from comments c where c.ticket = any(array(
      select t.id from tickets t join organisations o on o.id = t.organisation where o.name = $1))`,
  },
  'organisations.open': {
    columns: ORGANISATION_COLUMNS,
    rows: 'from organisations o where exists (select from tickets where organisation = o.id and status = $1)',
  },
  'organisations.escalated': {
    columns: ORGANISATION_COLUMNS,
    rows: 'from organisations o where o.id = any(array(select organisation from tickets where status = $1))',
  },
};

const count = z.enum(['exact', 'none']).default('exact');
const limit = z.coerce.number().int().min(1).max(100).default(20);
const ticketInput = z.strictObject({
  'organisation.plan': z.enum(['paid', 'trial']).optional(),
  'organisation.name': z.string().max(100).optional(),
  count,
  limit,
});
const commentInput = z.strictObject({ 'ticket.organisation.name': z.string().max(100), count, limit });
const organisationInput = z.strictObject({ 'tickets.status': z.enum(['open', 'escalated']), count, limit });

function encodeCursor(row: Row): string {
  return Buffer.from(JSON.stringify([row.created_at, row.id])).toString('base64url');
}

async function list(name: string, value: string, input: { count: 'exact' | 'none'; limit: number }) {
  const { columns, rows, countedRows = rows } = LISTS[name]!;
  const alias = columns[0]!;
  const page = `select ${columns} ${rows} order by ${alias}.created_at desc, ${alias}.id desc limit $2`;
  const [found, counted] = await Promise.all([
    query<Row>(name, page, [value, input.limit + 1]),
    input.count === 'none'
      ? undefined
      : query<{ count: string }>(`${name}.count`, `select count(*) ${countedRows}`, [value]),
  ]);
  const records = found.slice(0, input.limit);
  const next = found.length > input.limit ? encodeCursor(records.at(-1)!) : undefined;
  const data = records.map(toRecord);
  if (counted === undefined) return { data, meta: { limit: input.limit, next: next ?? null } };
  const total = Number(counted[0]?.count);
  return { data, meta: { total, page: 1, limit: input.limit, pages: Math.ceil(total / input.limit), next } };
}

const app = express();
app.use('/api', async (req, res, next) => {
  const token = /^bearer (\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  const [user] =
    token === undefined
      ? []
      : await query<{ id: string; status: string; roles: string[] }>('session', FIND_SESSION, [hashToken(token)]);
  if (user === undefined || user.status !== 'active') {
    res.status(401).json({ error: { code: 'UNAUTHORIZED' } });
    return;
  }
  res.locals.user = user;
  next();
});

app.get('/api/tickets', async (req, res) => {
  const { 'organisation.plan': plan, 'organisation.name': name, ...input } = ticketInput.parse(req.query);
  if (!res.locals.user.roles.includes('admin')) res.json(await list('tickets.scope', res.locals.user.id, input));
  else if (plan !== undefined) res.json(await list(`tickets.${plan}`, plan, input));
  else res.json(await list('tickets.name', name ?? '', input));
});

app.get('/api/comments', async (req, res) => {
  const { 'ticket.organisation.name': name, ...input } = commentInput.parse(req.query);
  res.json(await list('comments.name', name, input));
});

app.get('/api/organisations', async (req, res) => {
  const { 'tickets.status': status, ...input } = organisationInput.parse(req.query);
  res.json(await list(`organisations.${status}`, status, input));
});

reportReady(await startHttpServer(app));
