import type pg from 'pg';
import { createRelatedApp } from '../apps/related.ts';
import { withClient } from './database.ts';
import { createBelfryEnvironment, type Servers } from './environment.ts';
import { getUserEmail, insertUsers, USERS } from './seed.ts';

export const ORGANISATIONS = 1000;
const TICKETS = 100_000;
const MEMBERSHIPS = 5000;
const COMMENTS = 200_000;
/** Users without a session, so that each user is a member of 5 organisations and sees 500 tickets. */
const OTHER_USERS = MEMBERSHIPS / 5 - USERS;
/** The user who sees all tickets. */
export const RELATED_ADMIN = USERS - 1;

const ID = (prefix: string, number: string) => `'${prefix}' || lpad(to_hex(${number}), 23, '0')`;
const TIMES = `now() - n * interval '1 minute'`;

/** The statements that fill the tables. A row's parent is a number that is spread over the table, as in a table filled over time. */
const FILL_STATEMENTS = [
  `insert into users (id, name, email, roles, status, created_at, updated_at)
   select ${ID('b', 'n')}, 'User ' || n, 'user' || n || '@example.com', '{user}', 'active', now(), now()
   from generate_series(${USERS}, ${USERS + OTHER_USERS - 1}) n`,
  `insert into organisations (id, name, plan, created_at, updated_at)
   select ${ID('d', 'n')}, 'Organisation ' || n,
     case when n % 100 = 7 then 'trial' when n % 2 = 0 then 'paid' else 'free' end, ${TIMES}, ${TIMES}
   from generate_series(0, ${ORGANISATIONS - 1}) n`,
  `insert into memberships (id, organisation, "user", created_at, updated_at)
   select ${ID('e', 'n')}, ${ID('d', `n % ${ORGANISATIONS}`)},
     ${ID('b', `(n % ${ORGANISATIONS} * 7 + n / ${ORGANISATIONS} * 131) % ${USERS + OTHER_USERS}`)}, ${TIMES}, ${TIMES}
   from generate_series(0, ${MEMBERSHIPS - 1}) n`,
  `insert into tickets (id, title, body, status, organisation, created_at, updated_at)
   select ${ID('f', 'n')}, 'Ticket ' || n, repeat('The bells of the old town ring at noon. ', 8),
     case when n % 5003 = 11 then 'escalated' when n % 11 = 3 then 'open' else 'closed' end,
     ${ID('d', `n * 7919 % ${ORGANISATIONS}`)}, ${TIMES}, ${TIMES}
   from generate_series(0, ${TICKETS - 1}) n`,
  `insert into comments (id, body, ticket, created_at, updated_at)
   select ${ID('a', 'n')}, 'Comment ' || n, ${ID('f', `(n::bigint * 7927 % ${TICKETS})::int`)}, ${TIMES}, ${TIMES}
   from generate_series(0, ${COMMENTS - 1}) n`,
];

async function fillTables(client: pg.Client): Promise<void> {
  await insertUsers(client);
  await client.query(`update users set roles = '{user,admin}' where email = $1`, [getUserEmail(RELATED_ADMIN)]);
  for (const statement of FILL_STATEMENTS) await client.query(statement);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

/** Creates the tables, with organisations, memberships, tickets and comments. */
export async function fillRelatedDatabase(servers: Servers): Promise<void> {
  const app = createRelatedApp(createBelfryEnvironment(servers));
  await app.migrate({ mode: 'sync' });
  await app.close();
  await withClient(servers.databaseUrl, fillTables);
}
