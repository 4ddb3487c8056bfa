import type { ResourceGateway, UserData } from '../declare/host.ts';
import type { OutboxConsumer } from '../platform/outbox/relay.ts';
import type { Database } from '../platform/postgres/database.ts';
import { rowsInPages } from '../platform/postgres/rows-in-pages.ts';
import { writeInBatches } from '../platform/postgres/write-in-batches.ts';

// Index sessions_user_id_index. Devices that follow sessions go with them.
const SESSIONS = `
  select id, created_at, last_used_at, expires_at, ip, user_agent from sessions
  where user_id = $1 and id > $2 order by id limit $3`;
const SESSION_NAMES = ['id', 'createdAt', 'lastUsedAt', 'expiresAt', 'ip', 'userAgent'];
const REMOVE_SESSIONS = `
  delete from sessions where id in (select id from sessions where user_id = $1 limit $2) returning 1`;

const RESETS = `
  select user_id, requested_at, expires_at from password_resets where user_id = $1 and user_id > $2 limit $3`;
const REMOVE_RESETS = `
  delete from password_resets where user_id in (select user_id from password_resets where user_id = $1 limit $2) returning 1`;

/** E-mails to a user, and those that are still to be made for them. They are few, and go after a week: no index is worth its cost. */
function toUser(users: ResourceGateway): string {
  const email = `(select email from "${users.table}" where id = $1)`;
  return `(user_id = $1 or data->>'owner' = $1
    or user_id is null and (lower(recipient) = ${email} or lower(trim(data->>'email')) = ${email}))`;
}

// After two changes in a row, the first change has the address that the e-mails went to.
const KEEP_USER = `
  update mails set user_id = former.user_id from unnest($1::text[], $2::text[]) former(user_id, email)
  where mails.user_id is null and (lower(recipient) = former.email or lower(trim(data->>'email')) = former.email)`;

/** When a user's address changes, marks the e-mails to the former address with the user, so that erasures and exports find them. */
export function mailsToFormerAddresses(users: Pick<ResourceGateway, 'name'>): OutboxConsumer {
  const emailIn = (columns: unknown) => (columns as { email?: string } | undefined)?.email;
  return {
    wants: ({ name, payload }) =>
      name === `${users.name}.updated` &&
      emailIn(payload.previous) !== undefined &&
      emailIn(payload.previous) !== emailIn(payload.record),
    async handle(rows, tx) {
      const values = [rows.map(({ recordId }) => recordId), rows.map(({ payload }) => emailIn(payload.previous))];
      await tx.write({ text: KEEP_USER, values });
      return undefined;
    },
  };
}

/** What accounts hold of a user besides their record. */
export function accountData(database: Database, users: ResourceGateway): UserData[] {
  const mails = `
    select id, kind, recipient, status, created_at, finished_at from mails
    where ${toUser(users)} and id > $2 order by id limit $3`;
  const removeMails = `delete from mails where id in (select id from mails where ${toUser(users)} limit $2) returning 1`;
  return [
    {
      name: 'sessions',
      description: 'Where the user is signed in',
      tables: ['sessions'],
      rows: (userId) => rowsInPages(database, SESSIONS, SESSION_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_SESSIONS, [userId]),
    },
    {
      name: 'passwordResets',
      description: 'The link by which the user may set a new password',
      tables: ['password_resets'],
      async *rows(userId) {
        for await (const { requestedAt, expiresAt } of rowsInPages(
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
      description: 'E-mails to the user: when which one was sent, for a week',
      tables: ['mails'],
      rows: (userId) =>
        rowsInPages(database, mails, ['id', 'kind', 'recipient', 'status', 'createdAt', 'finishedAt'], [userId]),
      erase: (userId) => writeInBatches(database, removeMails, [userId]),
    },
  ];
}
