import { type ConsoleTab, type ExtensionHost, type RouteContext, withMeta } from '../../../extension/index.ts';
import { createPageReader, type ListQuery, listQuery, toEntryPage, toPublicEntry } from '../reading/query.ts';
import type { AuditFacts, ListedEntry, VerificationResult } from '../trail/responses.ts';
import { createTrailVerifier } from '../trail/verify.ts';
import { actionChoices, actionInWords } from './words.ts';

// Reads one row for each value of the column. Use the indexes audit_entries_action_index and audit_entries_resource_index.
const valuesSql = (column: 'action' | 'resource') => `
  with recursive found(value) as (
    (select ${column} from audit_entries where ${column} is not null order by ${column} limit 1)
    union all
    select (select ${column} from audit_entries where ${column} > found.value order by ${column} limit 1)
    from found where found.value is not null)
  select coalesce(jsonb_agg(value), '[]') from found where value is not null`;
/** The actions and resources that the trail contains. */
const CONTENT = `select (${valuesSql('action')}), (${valuesSql('resource')})`;

/** The tab of the console that shows the trail and verifies its chain. Administrators of the console see the entries of all records. */
export function createAuditTab(
  {
    database,
    settings,
    resources,
    languages,
  }: Pick<ExtensionHost, 'database' | 'settings' | 'resources' | 'languages'>,
  keepDays: number,
): ConsoleTab {
  const readPage = createPageReader(database);
  const verify = createTrailVerifier(database);
  const audited = resources.filter(({ declaration }) => declaration.audit === true).map(({ name }) => name);

  async function listEntries(ctx: RouteContext) {
    const query = ctx.query as unknown as ListQuery;
    const { page, next } = toEntryPage(await readPage(query, settings.http.pageBytes), query.limit);
    const { text } = languages.for(ctx.req);
    const entries = page.map(
      (entry): ListedEntry => ({ ...toPublicEntry(entry), words: text(actionInWords(entry.action)) }),
    );
    return withMeta(entries, { limit: query.limit, next });
  }

  async function readFacts({ req }: RouteContext): Promise<AuditFacts> {
    const rows = await database.readSlowly<[actions: string[], resources: string[]]>({ text: CONTENT, values: [] });
    const [actions, content] = rows[0]!;
    return { keepDays, audited, actions: actionChoices(actions, languages.for(req).text), resources: content };
  }

  async function verifyTrail(): Promise<VerificationResult> {
    const { rows, broken, guarded } = await verify();
    return { rows, broken: broken ?? null, guarded };
  }

  return {
    id: 'audit',
    label: 'Audit',
    routes: [
      { method: 'GET', path: '/facts', handler: readFacts },
      { method: 'GET', path: '/entries', query: listQuery, handler: listEntries },
      { method: 'POST', path: '/verify', action: 'trailVerified', handler: verifyTrail },
    ],
  };
}
