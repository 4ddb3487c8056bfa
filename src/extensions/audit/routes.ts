import type { Host } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { withMeta } from '../../platform/http/answer.ts';
import { type EntryRow, readEntry, type ValuesColumns, withValues } from './entry.ts';
import { entryShape } from './output.ts';
import { cursorBehind, type ListQuery, listQuery, pageStatement } from './query.ts';
import { createVisibleEntries } from './visible-entries.ts';

/** The route by which admins, and scripts of theirs, read the audit trail. */
export function auditRoutes({ database, resources }: Pick<Host, 'database' | 'resources'>): Route[] {
  const visibleEntries = createVisibleEntries(resources);

  async function list(ctx: RouteContext) {
    const query = ctx.query as unknown as ListQuery;
    const { limit } = query;
    const found = await database.readSlowly<[...EntryRow, ...ValuesColumns]>(pageStatement(query));
    const rows = found.map((row) => {
      const entry = readEntry(row.slice(0, 14) as EntryRow);
      return { ...entry, changes: withValues(entry.changes, row[15]) };
    });
    const page = rows.slice(0, limit);
    const entries = await visibleEntries(page, ctx);
    const shown = entries.map(({ previousHash: _, hash: __, ...entry }) => entry);
    return withMeta(shown, { limit, next: rows.length > limit ? cursorBehind(page.at(-1)!) : null });
  }

  return [
    {
      method: 'GET',
      path: '/admin/audit',
      policy: 'admin',
      scope: 'audit:read',
      summary: 'Who did what, newest first',
      description:
        'A page holds fewer entries than `limit`, though there is a next one, when some are about records outside of your scope.',
      query: listQuery,
      output: entryShape.array(),
      paged: true,
      errors: ['BAD_REQUEST'],
      operationId: 'listAuditEntries',
      tags: ['audit'],
      handler: list,
    },
  ];
}
