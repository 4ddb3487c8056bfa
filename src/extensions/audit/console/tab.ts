import { type ConsoleTab, type Host, type RouteContext, withMeta } from '../../../extension/index.ts';
import { createPageReader, type ListQuery, listQuery, toEntryPage, toPublicEntry } from '../reading/query.ts';
import { createTrailVerifier } from '../trail/verify.ts';

/** The tab of the console that shows the trail and verifies its chain. Administrators of the console see the entries of all records. */
export function createAuditTab(
  { database, settings, resources }: Pick<Host, 'database' | 'settings' | 'resources'>,
  keepDays: number,
): ConsoleTab {
  const readPage = createPageReader(database);
  const verify = createTrailVerifier(database);
  const audited = resources.filter(({ declaration }) => declaration.audit === true).map(({ name }) => name);

  async function listEntries(ctx: RouteContext) {
    const query = ctx.query as unknown as ListQuery;
    const { page, next } = toEntryPage(await readPage(query, settings.http.pageBytes), query.limit);
    return withMeta(page.map(toPublicEntry), { limit: query.limit, next });
  }

  async function verifyTrail() {
    const { rows, broken, guarded } = await verify();
    return { rows, broken: broken ?? null, guarded };
  }

  return {
    id: 'audit',
    label: 'Audit',
    routes: [
      { method: 'GET', path: '/facts', handler: () => ({ keepDays, audited }) },
      { method: 'GET', path: '/entries', query: listQuery, handler: listEntries },
      { method: 'POST', path: '/verify', action: 'trailVerified', handler: verifyTrail },
    ],
  };
}
