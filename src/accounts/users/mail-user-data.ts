import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';

/**
 * Returns SQL that selects the ids of e-mails to the user `$1`, including e-mails that are not composed yet. A select for each index of the
 * table: for one with several conditions, Postgres could scan the table instead.
 *
 * @param end the end of each select
 */
function mailsToUserSql(users: ResourceGateway, end = ''): string {
  const email = `(select left(email, 254) from "${users.table}" where id = $1)`;
  const conditions = [
    'user_id = $1',
    `left(data->>'owner', 40) = $1`,
    `user_id is null and left(lower(recipient), 254) = ${email}`,
    `user_id is null and left(lower(trim(data->>'email')), 254) = ${email}`,
  ];
  return conditions.map((condition) => `(select id from mails where ${condition}${end})`).join(' union ');
}

const LINK_TO_USER = `
  update mails set user_id = former.user_id from unnest($1::text[], $2::text[]) former(user_id, email)
  where mails.user_id is null and (lower(recipient) = former.email or lower(trim(data->>'email')) = former.email)`;

/**
 * Creates a relay consumer that links e-mails to their user when the user's address changes, so that erasures and exports still
 * find them.
 */
export function createFormerAddressConsumer(users: Pick<ResourceGateway, 'name'>): OutboxConsumer {
  const emailOf = (columns: unknown) => (columns as { email?: string } | undefined)?.email;
  return {
    wants: ({ name, payload }) =>
      name === `${users.name}.updated` &&
      emailOf(payload.previous) !== undefined &&
      emailOf(payload.previous) !== emailOf(payload.record),
    async handle(rows, tx) {
      const values = [rows.map(({ recordId }) => recordId), rows.map(({ payload }) => emailOf(payload.previous))];
      await tx.write({ text: LINK_TO_USER, values });
      return undefined;
    },
  };
}

const MAIL_NAMES = ['id', 'kind', 'recipient', 'status', 'createdAt', 'finishedAt'];

/** Describes the e-mails to a user, for exports and erasures. */
export function describeMailUserData(database: Database, users: ResourceGateway): UserData {
  const mails = `
    select id, kind, recipient, status, created_at, finished_at from mails
    where id = any(array(${mailsToUserSql(users)})) and id > $2 order by id limit $3`;
  const removeMails = `delete from mails where id = any(array(${mailsToUserSql(users, ' limit $2')} limit $2)) returning 1`;
  return {
    name: 'mails',
    description: 'E-mails sent to the user in the last week',
    tables: ['mails'],
    rows: (userId) => readRowsInPages(database, mails, MAIL_NAMES, [userId]),
    erase: (userId) => writeInBatches(database, removeMails, [userId]),
  };
}
