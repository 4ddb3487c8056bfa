import type { Host } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { withMeta } from '../../platform/http/response.ts';
import { type Measured, readWithinRoom } from '../../records/serialize/response-bytes.ts';
import { type Entry, type EntryRow, readEntry, type ValuesColumns, withValues } from './entry.ts';
import { entryShape } from './output.ts';
import { cursorBehind, type ListQuery, listQuery, pageStatement } from './query.ts';
import { createVisibleEntries } from './visible-entries.ts';

type SizedRow = [...EntryRow, ...ValuesColumns, bytes: number, isFollowed: true | null];

/** The route by which admins, and scripts of theirs, read the audit trail. */
export function auditRoutes({
  database,
  resources,
  settings,
}: Pick<Host, 'database' | 'resources' | 'settings'>): Route[] {
  const visibleEntries = createVisibleEntries(resources);

  async function readPage(query: ListQuery, bytes: number): Promise<Measured<Entry>> {
    const found = await database.readSlowly<SizedRow>(pageStatement(query, bytes));
    const records = found.map((row) => {
      const entry = readEntry(row.slice(0, 14) as EntryRow);
      return { ...entry, changes: withValues(entry.changes, row[15]) };
    });
    return { records, bytes: found.reduce((sum, row) => sum + row[16], 0), isCut: found.at(-1)?.[17] === true };
  }

  async function list(ctx: RouteContext) {
    const query = ctx.query as unknown as ListQuery;
    const { limit } = query;
    const { records: rows, isCut } = await readWithinRoom(ctx.req, settings.http.pageBytes, (room) =>
      readPage(query, room()),
    );
    const page = rows.slice(0, limit);
    const entries = await visibleEntries(page, ctx);
    const shown = entries.map(({ previousHash: _, hash: __, ...entry }) => entry);
    const isMore = isCut || rows.length > limit;
    // The one row more may be what had no room.
    const truncated = isCut && rows.length < limit ? { truncated: true } : {};
    return withMeta(shown, { limit, next: isMore ? cursorBehind(page.at(-1)!) : null, ...truncated });
  }

  return [
    {
      method: 'GET',
      path: '/admin/audit',
      policy: 'admin',
      scope: 'audit:read',
      summary: 'Who did what, newest first',
      description:
        'A page holds fewer entries than `limit`, though there is a next one, when some are about records outside of your scope, or ' +
        'when more would be too large for one answer (`meta.truncated`).',
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
