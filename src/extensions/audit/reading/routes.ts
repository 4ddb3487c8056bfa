import { z } from 'zod';
import { type Host, type Route, type RouteContext, withMeta } from '../../../extension/index.ts';
import { readPageWithinResponseRoom } from '../../../records/serialize/response-bytes.ts';
import { createPageReader, type ListQuery, listQuery, toEntryPage, toPublicEntry } from './query.ts';
import { createVisibleEntriesFilter } from './visible-entries.ts';

const id = z.string().nullable();

/** An entry in responses. */
const entryShape = z
  .strictObject({
    id: z.int().meta({ description: 'The position in the chain' }),
    at: z.iso.datetime().meta({ description: 'When it happened' }),
    action: z.string().meta({ description: '`created`, `updated`, `deleted`, `restored`, or an event: `auth.login`' }),
    resource: z.string().nullable(),
    record: id,
    user: id.meta({ description: 'The id of the user who performed the action' }),
    via: z.string().nullable().meta({
      description:
        '`session`, `api-key`, `console`, `portal` for a link to the webhook portal, or `system` for code that acts for no user',
    }),
    credential: id.meta({ description: 'The id of the session, key or link' }),
    ip: z.string().nullable(),
    requestId: z.string().nullable(),
    changes: z
      .record(
        z.string(),
        z.union([
          z.strictObject({ from: z.unknown().optional(), to: z.unknown().optional() }),
          z.strictObject({ changed: z.literal(true) }),
        ]),
      )
      .nullable()
      .meta({ description: 'By field. Secret values appear only as `changed`; personal values are masked.' }),
    details: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'AuditEntry' });

/** The route for admins to read the audit trail. */
export function auditRoutes({
  database,
  resources,
  settings,
}: Pick<Host, 'database' | 'resources' | 'settings'>): Route[] {
  const filterVisibleEntries = createVisibleEntriesFilter(resources);

  const readPage = createPageReader(database);

  async function listAuditEntries(ctx: RouteContext) {
    const query = ctx.query as unknown as ListQuery;
    const { limit } = query;
    const read = await readPageWithinResponseRoom(ctx.req, settings.http.pageBytes, (room) => readPage(query, room()));
    const { page, next } = toEntryPage(read, limit);
    const entries = await filterVisibleEntries(page, ctx);
    const output = entries.map(toPublicEntry);
    // limit + 1 rows were read to see whether another page exists. If the byte limit cut off only that extra row, this page is complete.
    const truncated = read.isCut && read.records.length < limit ? { truncated: true } : {};
    return withMeta(output, { limit, next, ...truncated });
  }

  return [
    {
      method: 'GET',
      path: '/admin/audit',
      policy: 'admin',
      scope: 'audit:read',
      summary: 'List audit entries, newest first',
      description:
        'A page may have fewer entries than `limit` although there is a next page: entries about records outside your scope are left ' +
        'out, and a page has a maximum size (`meta.truncated`).',
      query: listQuery,
      output: entryShape.array(),
      paged: true,
      errors: ['BAD_REQUEST'],
      operationId: 'listAuditEntries',
      tags: ['audit'],
      handler: listAuditEntries,
    },
  ];
}
