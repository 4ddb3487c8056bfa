import type { UserData } from '../declare/user-data.ts';
import type { Database } from '../platform/postgres/database.ts';

const RESULTS_AT_ONCE = 5000;

// Results have no index by user, which every send would pay for: whoever asks about one user walks through the month that is kept.
const PAGE = `
  select push_id, position, user_id = $1 from push_results
  where (push_id, position) > ($2, $3) order by push_id, position limit ${RESULTS_AT_ONCE}`;
const ROWS = `
  select r.push_id, r.platform, r.masked_token, r.ok, r.error, r.sent_at, r.opened_at, p.message
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
  update push_results r set user_id = null, masked_token = '***', provider_id = null
  where r.push_id = any($2) and r.user_id = $1 and not exists (select from theirs t where t.id = r.push_id)`;

type PageRow = [pushId: string, position: number, theirs: boolean | null];

/** The pushes that went to a user. */
export function pushData(database: Database): UserData {
  /** Ids of pushes with the user among their results, and how many results, page by page. */
  async function* pages(userId: string): AsyncGenerator<{ ids: string[]; count: number }> {
    for (let after: [string, number] = ['', 0]; ; ) {
      const rows = await database.readSlowly<PageRow>({ text: PAGE, values: [userId, ...after] });
      const found = rows.filter(([, , theirs]) => theirs === true);
      if (found.length > 0) yield { ids: [...new Set(found.map(([id]) => id))], count: found.length };
      const last = rows.at(-1);
      if (last === undefined || rows.length < RESULTS_AT_ONCE) return;
      after = [last[0], last[1]];
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
          const [push, platform, token, ok, error, sentAt, openedAt, message] = row;
          yield { push, platform, token, ok, error, sentAt, openedAt, message };
        }
      }
    },
    async erase(userId) {
      let total = 0;
      for await (const { ids, count } of pages(userId)) {
        await database.write({ text: ERASE, values: [userId, ids] });
        total += count;
      }
      return total;
    },
  };
}
