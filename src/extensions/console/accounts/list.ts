import { z } from 'zod';
import { activeUserSql } from '../../../accounts/users/user-state.ts';
import { formatTitle } from '../../../declare/title.ts';
import {
  type AccountPanel,
  ApiError,
  countParameter,
  isAccountActive,
  isId,
  type PanelValue,
  quoteIdentifier,
  type RouteContext,
  type StoredRecord,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { searchCondition } from '../data/labels.ts';
import type { AccountFields, AccountsTabContext } from './context.ts';
import type { AccountInfo, AccountItem } from './responses.ts';
import { translateValue } from './translate-panels.ts';

/** The query of the list. */
export const accountsQuery = z.strictObject({
  q: z.string({ error: 'Must be a text' }).max(200, { error: 'Must have at most 200 characters' }).optional(),
  role: z.string({ error: 'Must be a role' }).max(100, { error: 'Must be a role' }).optional(),
  status: z
    .enum(['active', 'disabled', 'unverified'], { error: 'Must be one of: active, disabled, unverified' })
    .optional(),
  sort: z.enum(['newest', 'oldest'], { error: 'Must be newest or oldest' }).default('newest'),
  after: z.string().refine(isId, { error: 'Must be the "meta.next" of a previous page' }).optional(),
  limit: countParameter(100, 50),
});

type AccountsQuery = z.output<typeof accountsQuery>;

const textOrNull = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : null);

/** Converts a stored user. */
export function toAccountInfo({ title, roles }: AccountFields, user: StoredRecord): AccountInfo {
  return {
    id: user.id,
    email: String(user.email),
    name: formatTitle(title, user) ?? null,
    roles: roles === undefined ? null : Array.isArray(user.roles) ? (user.roles as string[]) : [],
    isActive: isAccountActive(user),
    emailVerifiedAt: textOrNull(user.emailVerifiedAt),
    createdAt: textOrNull(user.createdAt),
  };
}

/**
 * Builds the statement of a page. Ids are ordered by time, so the primary key gives the order.
 *
 * @throws ApiError BAD_REQUEST for a filter that the accounts of this app do not have
 */
function pageStatement(
  { users, fields }: AccountsTabContext,
  query: AccountsQuery,
): { text: string; values: unknown[] } {
  const { q = '', role, status, sort, after, limit } = query;
  const values: unknown[] = [limit + 1];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const terms: string[] = [];
  const text = q.trim();
  if (isId(text)) terms.push(`u."id" = ${bind(text)}`);
  else if (text !== '') terms.push(searchCondition(fields.title, fields.searchTexts, text, bind));
  if (role !== undefined) {
    if (!fields.roles?.includes(role)) throw new ApiError('BAD_REQUEST', 'There is no such role');
    terms.push(`${bind(role)} = any(u."roles")`);
  }
  if (status === 'unverified') {
    if (!fields.hasVerification) throw new ApiError('BAD_REQUEST', 'This app does not verify e-mail addresses');
    terms.push('u."email_verified_at" is null');
  } else if (status !== undefined) terms.push(`${status === 'active' ? '' : 'not '}(${activeUserSql(users, 'u')})`);
  if (after !== undefined) terms.push(`u."id" ${sort === 'newest' ? '<' : '>'} ${bind(after)}`);
  const where = terms.length === 0 ? '' : `where ${terms.join(' and ')}`;
  const order = sort === 'newest' ? 'desc' : 'asc';
  return {
    text: `select ${users.columns('u')} from ${quoteIdentifier(users.table)} u ${where} order by u."id" ${order} limit $1`,
    values,
  };
}

/** A column that a panel adds to the list. */
type PanelWithSummary = AccountPanel & { summary: NonNullable<AccountPanel['summary']> };

/** Returns the panels that add a column to the list. */
export function panelsWithSummary(panels: readonly AccountPanel[]): PanelWithSummary[] {
  return panels.filter((panel): panel is PanelWithSummary => panel.summary !== undefined);
}

/** Handles `GET /users`: one query for the page, and one for each column of a panel. */
export async function listAccounts(
  context: AccountsTabContext,
  panels: readonly PanelWithSummary[],
  ctx: RouteContext,
): Promise<unknown> {
  const { host, users, fields } = context;
  const query = ctx.query as unknown as AccountsQuery;
  const rows = await host.database.readSlowly(pageStatement(context, query));
  const accounts = rows.map((row) => toAccountInfo(fields, users.fromRow(row)));
  const { page, next } = toPage(accounts, query.limit, ({ id }) => id);
  const ids = page.map(({ id }) => id);
  const columns = await Promise.all(
    ids.length === 0
      ? []
      : panels.map(async ({ id, summary }) => ({ id, kind: summary.kind, values: await summary.read(ids) })),
  );
  const { text } = host.languages.for(ctx.req);
  const summaryOf = (user: string): Record<string, PanelValue> =>
    Object.fromEntries(
      columns.map(({ id, kind, values }) => [id, translateValue(values.get(user) ?? null, kind, text)]),
    );
  const listed = page.map((account): AccountItem => ({ ...account, summary: summaryOf(account.id) }));
  return withMeta(listed, { limit: query.limit, next });
}
