import type { UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { rowsInPages } from '../../platform/postgres/rows-in-pages.ts';
import { REMOVE_CHALLENGES } from './sql.ts';

const ROWS = `
  select created_at::text, created_at, confirmed_at, cardinality(recovery_codes) from two_factors
  where user_id = $1 and created_at::text > $2 limit $3`;
const REMOVE = 'delete from two_factors where user_id = $1 returning 1';

/** The second factor of a user, and logins that wait for it. */
export function factorData(database: Database): UserData {
  return {
    name: 'twoFactors',
    description: 'Two-factor login: whether it is on, without its secrets',
    tables: ['two_factors', 'two_factor_challenges'],
    async *rows(userId) {
      for await (const { createdAt, confirmedAt, recoveryCodesLeft } of rowsInPages(
        database,
        ROWS,
        ['key', 'createdAt', 'confirmedAt', 'recoveryCodesLeft'],
        [userId],
      )) {
        yield { createdAt, confirmedAt, recoveryCodesLeft };
      }
    },
    async erase(userId) {
      await database.write({ text: REMOVE_CHALLENGES, values: [[userId]] });
      return (await database.write({ text: REMOVE, values: [userId] })).length;
    },
  };
}
