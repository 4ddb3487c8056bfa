import type { UserData } from '../declare/user-data.ts';
import type { Database } from '../platform/postgres/database.ts';
import { writeInBatches } from '../platform/postgres/write-in-batches.ts';

const RESULTS_AT_ONCE = 5000;

// Results have no index by user, which every send would pay for: whoever asks about one user walks through the month that is kept.
const PAGE = `
  with page as materialized (
    select push_id, position, user_id from push_results
    where (push_id, position) > ($2, $3) order by push_id, position limit ${RESULTS_AT_ONCE}
  )
  select coalesce(array_agg(distinct push_id) filter (where user_id = $1), '{}'), count(*) filter (where user_id = $1),
    (select array[push_id, position::text] from page offset ${RESULTS_AT_ONCE - 1}) from page`;
const ROWS = `
  select r.push_id, r.platform, r.device_name, r.masked_token, r.ok, r.error, r.sent_at, r.opened_at, p.message
  from push_results r join pushes p on p.id = r.push_id where r.push_id = any($2) and r.user_id = $1
  order by r.push_id, r.position`;

// What went to this user alone may say anything about them: it goes whole. Of what others got too their part becomes nobody's.
const ERASE = `
  with theirs as (
    delete from pushes p where p.id = any($2)
      and not exists (select from push_results r where r.push_id = p.id and r.user_id is distinct from $1)
      and not exists (select from push_audiences a where a.push_id = p.id)
    returning p.id
  )
  update push_results r set user_id = null, masked_token = '***', device_name = null, provider_id = null
  where r.push_id = any($2) and r.user_id = $1 and not exists (select from theirs t where t.id = r.push_id)`;

// Nobody got it: no result tells whom it was for.
const ERASE_UNSENT = `
  delete from pushes where id in (
    select id from pushes
    where status = 'no-devices' and (audience->>'to' = $1 or audience->'to' = jsonb_build_array($1::text)) limit $2)
  returning 1`;

/** `next`: where the next page begins behind; null: there is none. */
type PageRow = [ids: string[], count: number, next: [pushId: string, position: string] | null];

/** The pushes that went to a user. */
export function pushData(database: Database): UserData {
  /** Ids of pushes with the user among their results, and how many results, page by page. */
  async function* pages(userId: string): AsyncGenerator<{ ids: string[]; count: number }> {
    for (let after: PageRow[2] = ['', '0']; after !== null; ) {
      const rows: PageRow[] = await database.readSlowly({ text: PAGE, values: [userId, ...after] });
      const [ids, count, next] = rows[0]!;
      if (ids.length > 0) yield { ids, count: Number(count) };
      after = next;
    }
  }

  return {
    name: 'pushes',
    description: 'Push notifications of the last 30 days to devices of the user',
    tables: ['pushes', 'push_results', 'push_audiences'],
    kept: 'What others got too stays, without the user; a list of ids that a push was sent to may have theirs, for 30 days',
    async *rows(userId) {
      for await (const { ids } of pages(userId)) {
        for (const row of await database.readSlowly<unknown[]>({ text: ROWS, values: [userId, ids] })) {
          const [push, platform, device, token, ok, error, sentAt, openedAt, message] = row;
          yield { push, platform, device, token, ok, error, sentAt, openedAt, message };
        }
      }
    },
    async erase(userId) {
      let total = await writeInBatches(database, ERASE_UNSENT, [userId]);
      for await (const { ids, count } of pages(userId)) {
        await database.write({ text: ERASE, values: [userId, ids] });
        total += count;
      }
      return total;
    },
  };
}
