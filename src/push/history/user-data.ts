import type { UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';

const RESULTS_PER_PAGE = 500;

// Selects a page of the pushes to a user's devices. Uses push_results_user_index.
const SELECT_RESULTS = `
  select r.push_id, r.position, r.platform, r.device_name, r.masked_token, r.ok, r.error, r.sent_at, r.opened_at, p.message
  from push_results r join pushes p on p.id = r.push_id
  where r.user_id = $1 and (r.push_id, r.position) > ($2, $3) order by r.push_id, r.position limit ${RESULTS_PER_PAGE}`;

// Erases a batch of the results of a user. A push to this user alone may contain personal data, so the push is deleted. In a push that
// others received too, the results of this user are anonymized. Returns all results of the user in the batch. Uses push_results_user_index.
const ERASE_RESULTS = `
  with taken as materialized (
    select distinct push_id from (
      select push_id from push_results where user_id = $1 order by push_id, position limit $2
    ) first
  ), theirs as (
    delete from pushes p where p.id in (select push_id from taken)
      and not exists (select from push_results r where r.push_id = p.id and r.user_id is distinct from $1)
      and not exists (select from push_audiences a where a.push_id = p.id)
    returning p.id
  ), freed as (
    update push_results r set user_id = null, masked_token = '***', device_name = null, provider_id = null
    where r.push_id in (select push_id from taken) and r.user_id = $1
      and not exists (select from theirs t where t.id = r.push_id)
  )
  select 1 from push_results r where r.push_id in (select push_id from taken) and r.user_id = $1`;

// Deletes pushes to the user that reached no device: they have no results that lead to them. The
// recipient is an id or a list of one. Uses pushes_unsent_to_index.
const ERASE_UNSENT = `
  delete from pushes where id = any(array(
    select id from pushes
    where status = 'no-devices' and left(audience->>'to', 40) in ($1, '["' || $1 || '"]') limit $2))
  returning 1`;

/** Describes the pushes that were sent to a user: how to export and to erase them. */
export function createPushUserData(database: Database): UserData {
  return {
    name: 'pushes',
    description: 'Push notifications of the last 30 days to devices of the user',
    tables: ['pushes', 'push_results', 'push_audiences'],
    kept: 'Pushes to several users are kept without this user; their lists of recipients may contain the id of the user for 30 days',
    async *rows(userId) {
      for (let after: [pushId: string, position: number] = ['', 0]; ; ) {
        const rows = await database.readSlowly<unknown[]>({ text: SELECT_RESULTS, values: [userId, ...after] });
        for (const [push, , platform, device, token, ok, error, sentAt, openedAt, message] of rows)
          yield { push, platform, device, token, ok, error, sentAt, openedAt, message };
        if (rows.length < RESULTS_PER_PAGE) return;
        const [pushId, position] = rows.at(-1)!;
        after = [pushId as string, position as number];
      }
    },
    async erase(userId) {
      const unsent = await writeInBatches(database, ERASE_UNSENT, [userId]);
      return unsent + (await writeInBatches(database, ERASE_RESULTS, [userId]));
    },
  };
}
