import type { ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';

// Uses index sessions_user_id_index. The foreign key removes the devices of a session with it.
const SESSIONS = `
  select id, created_at, last_used_at, expires_at, ip, user_agent, method from sessions
  where user_id = $1 and id > $2 order by id limit $3`;
const SESSION_NAMES = ['id', 'createdAt', 'lastUsedAt', 'expiresAt', 'ip', 'userAgent', 'method'];
const REMOVE_SESSIONS = `
  delete from sessions where id in (select id from sessions where user_id = $1 limit $2) returning 1`;

// Uses index user_identities_user_id_index.
const IDENTITIES = `
  select id, provider, subject, email, created_at, last_used_at from user_identities
  where user_id = $1 and id > $2 order by id limit $3`;
const IDENTITY_NAMES = ['id', 'provider', 'subject', 'email', 'createdAt', 'lastUsedAt'];
const REMOVE_IDENTITIES = `
  delete from user_identities where id in (select id from user_identities where user_id = $1 limit $2) returning 1`;

const RESETS = `
  select user_id, requested_at, expires_at from password_resets where user_id = $1 and user_id > $2 limit $3`;
const REMOVE_RESETS = `
  delete from password_resets where user_id in (select user_id from password_resets where user_id = $1 limit $2) returning 1`;

/**
 * Returns the SQL condition for e-mails to the user `$1`, including e-mails that are not composed yet. There is no index: the table
 * is small, because e-mails are removed after a week.
 */
function mailToUserSql(users: ResourceGateway): string {
  const email = `(select email from "${users.table}" where id = $1)`;
  return `(user_id = $1 or data->>'owner' = $1
    or user_id is null and (lower(recipient) = ${email} or lower(trim(data->>'email')) = ${email}))`;
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

/** Describes the data that accounts store about a user, besides the user record. */
export function describeAccountUserData(database: Database, users: ResourceGateway): UserData[] {
  const mails = `
    select id, kind, recipient, status, created_at, finished_at from mails
    where ${mailToUserSql(users)} and id > $2 order by id limit $3`;
  const removeMails = `delete from mails where id in (select id from mails where ${mailToUserSql(users)} limit $2) returning 1`;
  return [
    {
      name: 'sessions',
      description: 'Where the user is signed in',
      tables: ['sessions'],
      rows: (userId) => readRowsInPages(database, SESSIONS, SESSION_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_SESSIONS, [userId]),
    },
    {
      name: 'identities',
      description: 'Accounts at identity providers, such as Google, that the user signs in with',
      tables: ['user_identities'],
      rows: (userId) => readRowsInPages(database, IDENTITIES, IDENTITY_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_IDENTITIES, [userId]),
    },
    {
      name: 'passwordResets',
      description: 'The link to set a new password',
      tables: ['password_resets'],
      async *rows(userId) {
        for await (const { requestedAt, expiresAt } of readRowsInPages(
          database,
          RESETS,
          ['userId', 'requestedAt', 'expiresAt'],
          [userId],
        )) {
          yield { requestedAt, expiresAt };
        }
      },
      erase: (userId) => writeInBatches(database, REMOVE_RESETS, [userId]),
    },
    {
      name: 'mails',
      description: 'E-mails sent to the user in the last week',
      tables: ['mails'],
      rows: (userId) =>
        readRowsInPages(database, mails, ['id', 'kind', 'recipient', 'status', 'createdAt', 'finishedAt'], [userId]),
      erase: (userId) => writeInBatches(database, removeMails, [userId]),
    },
  ];
}
