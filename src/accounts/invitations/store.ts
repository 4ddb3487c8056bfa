import type { ExtraConfigColumn } from 'drizzle-orm/pg-core';
import type { ResourceGateway } from '../../declare/host.ts';
import { hashToken } from '../../platform/data/crypto/token.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { index, sql, text, timestamptz } from '../../platform/data/postgres/drizzle.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { toPage } from '../../platform/helpers/pages.ts';
import { tablesOf } from '../../records/schema/table-names.ts';

/** How long expired and accepted invitations stay in the list, as an SQL interval. */
export const INVITATION_RETENTION = `interval '30 days'`;

/** Creates the columns that every table of invitations has. Only the SHA-256 of the newest link's token is stored. */
export const invitationColumns = () => ({
  id: text('id').primaryKey(),
  email: text('email').notNull(),
  invitedBy: text('invited_by').notNull(),
  /** Null until the e-mail is composed, and after the invitation was accepted or renewed. */
  tokenHash: text('token_hash').unique(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
  acceptedAt: timestamptz('accepted_at'),
  /** The user who accepted the invitation. */
  acceptedBy: text('accepted_by'),
});

/** Creates the indexes that every table of invitations has, besides the unique one on the pending invitations of an address. */
export const invitationIndexes = (
  name: string,
  table: Record<'id' | 'invitedBy' | 'acceptedBy' | 'expiresAt', ExtraConfigColumn>,
) => [
  index(`${name}_invited_by_index`).on(table.invitedBy, table.id),
  index(`${name}_accepted_by_index`).on(table.acceptedBy).where(sql`accepted_by is not null`),
  index(`${name}_expires_at_index`).on(table.expiresAt),
];

/** A condition: an invitation is addressed to the user `$1`. Uses the index on the address. */
export function isAddressedToUserSql(users: ResourceGateway): string {
  const emails = tablesOf(users).map((table) => `select lower(email) from ${quoteIdentifier(table)} where id = $1`);
  return `email = any(array(${emails.join(' union all ')}))`;
}

/** The invited address, and what the invited user gets. The names are those of the columns. */
export interface InvitationContent {
  email: string;
}

/** An invitation, as its inviter and the managers see it. */
export type Invitation<Content extends InvitationContent> = Content & {
  id: string;
  /** The id of the user who sent it. */
  invitedBy: string;
  status: 'pending' | 'accepted' | 'expired';
  createdAt: string;
  expiresAt: string;
  acceptedAt: string | null;
};

/** A table with `invitationColumns` and `invitationIndexes`, and what distinguishes it from the others. */
export interface InvitationTable<Content> {
  name: string;
  /** The columns of the content, in the order of responses. */
  content: readonly (keyof Content & string)[];
  /** The indexed column by which invitations are limited and listed. Its value is the scope of an invitation. */
  scope: 'invited_by' | (keyof Content & string);
  /** The columns of the unique index on pending invitations. */
  uniqueBy: readonly (keyof Content & string)[];
}

const PENDING = 'accepted_at is null and expires_at > now()';
const STATUS = `case when accepted_at is not null then 'accepted' when expires_at <= now() then 'expired' else 'pending' end`;

/** Returns the statements on a table. They use its primary key and its unique indexes, or the index on the scope. */
function createStatements<Content>({ name, content, scope, uniqueBy }: InvitationTable<Content>) {
  const columns = `id, ${content.join(', ')}, invited_by, ${STATUS}, created_at, expires_at, accepted_at`;
  const isSame = uniqueBy.map((column, i) => `${column} = $${i + 1}`).join(' and ');
  const inScope = `accepted_at is null and ($2::text is null or ${scope} = $2)`;
  const list = (condition: string) => `
    select ${columns} from ${name}
    where ${condition} and ($2::text is null or id < $2) and ($3::text is null or ${STATUS} = $3)
    order by id desc limit $4`;
  return {
    countPending: `select count(*)::int from ${name} where ${scope} = $1 and ${PENDING}`,
    findPending: `select 1 from ${name} where ${isSame} and ${PENDING}`,
    removeExpired: `delete from ${name} where ${isSame} and accepted_at is null and expires_at <= now()`,
    insert: `
      insert into ${name} (id, invited_by, expires_at, ${content.join(', ')})
      values ($1, $2, now() + $3::float8 * interval '1 day', ${content.map((_, i) => `$${i + 4}`).join(', ')})
      on conflict (${uniqueBy.join(', ')}) where accepted_at is null do nothing returning ${columns}`,
    issue: `update ${name} set token_hash = $2 where id = $1 and ${PENDING} returning 1`,
    renew: `
      update ${name} set expires_at = now() + $3::float8 * interval '1 day', token_hash = null,
        invited_by = coalesce($4, invited_by)
      where id = $1 and ${inScope} returning ${columns}`,
    remove: `delete from ${name} where id = $1 and ${inScope} returning ${columns}`,
    find: `select ${columns} from ${name} where id = $1 and ${inScope}`,
    findByToken: `select ${columns} from ${name} where token_hash = $1 and ${PENDING}`,
    accept: `
      update ${name} set accepted_at = now(), accepted_by = $2, token_hash = null
      where id = $1 and ${PENDING} and token_hash = $3 returning 1`,
    listScope: list(`${scope} = $1`),
    listAll: list('$1::text is null'),
    removeOfInviters: `delete from ${name} where invited_by = any($1) and accepted_at is null`,
  };
}

/** The invitations of one table. */
export type InvitationStore<Content extends InvitationContent> = ReturnType<typeof createInvitationStore<Content>>;

/** Creates the store of the invitations in a table. A `scope` that is undefined stands for the invitations of every scope. */
export function createInvitationStore<Content extends InvitationContent>(
  database: Database,
  table: InvitationTable<Content>,
) {
  const statements = createStatements(table);
  const names = ['id', ...table.content, 'invitedBy', 'status', 'createdAt', 'expiresAt', 'acceptedAt'];
  const toInvitation = (row: unknown[]) =>
    Object.fromEntries(names.map((name, i) => [name, row[i]])) as unknown as Invitation<Content>;
  async function first(
    text: string,
    values: unknown[],
    on: Executor = database,
  ): Promise<Invitation<Content> | undefined> {
    const [row] = await on.write({ text, values });
    return row && toInvitation(row);
  }
  const isSame = (content: Content) => table.uniqueBy.map((column) => content[column]);
  return {
    countPending: async (scope: string, on: Executor = database): Promise<number> =>
      (await on.write<[number]>({ text: statements.countPending, values: [scope] }))[0]![0],
    /** Whether the address has a pending invitation for the same. */
    isPending: async (content: Content): Promise<boolean> =>
      (await database.write({ text: statements.findPending, values: isSame(content) })).length > 0,
    /** Stores an invitation in place of an expired one. Returns undefined if the address has a pending one for the same. */
    async create(content: Content, { invitedBy, days }: { invitedBy: string; days: number }, on: Executor) {
      await on.write({ text: statements.removeExpired, values: isSame(content) });
      return first(
        statements.insert,
        [newId(), invitedBy, days, ...table.content.map((column) => content[column])],
        on,
      );
    },
    /** Stores the hash of a new link; earlier links stop working. Returns false if the invitation is no longer pending. */
    issue: async (id: string, token: string): Promise<boolean> =>
      (await database.write({ text: statements.issue, values: [id, hashToken(token)] })).length > 0,
    /** Extends a pending or expired invitation. @param invitedBy the new inviter; undefined: the inviter stays */
    renew: (
      { id, scope, invitedBy }: { id: string; scope: string | undefined; invitedBy?: string | undefined },
      days: number,
      on: Executor,
    ) => first(statements.renew, [id, scope, days, invitedBy], on),
    /** Removes a pending or expired invitation. */
    remove: (id: string, scope: string | undefined) => first(statements.remove, [id, scope]),
    /** Returns a pending or expired invitation. */
    find: (id: string, scope?: string) => first(statements.find, [id, scope]),
    /** Returns the pending invitation with this link. */
    findByToken: (token: string) => first(statements.findByToken, [hashToken(token)]),
    /** Marks an invitation as accepted. Returns true for one caller only. */
    accept: async (id: string, token: string, userId: string, on: Executor): Promise<boolean> =>
      (await on.write({ text: statements.accept, values: [id, userId, hashToken(token)] })).length > 0,
    /** Returns a page of invitations, newest first, and the `after` of the next page; null after the last one. */
    async list(
      scope: string | undefined,
      { status, after, limit }: { status?: string | undefined; after?: string | undefined; limit: number },
    ) {
      const [name, text] = scope === undefined ? ['all', statements.listAll] : ['scope', statements.listScope];
      const values = [scope, after, status, limit + 1];
      const rows = await database.readList({ name: `${table.name}_list_${name}`, text, values });
      return toPage(rows.map(toInvitation), limit, ({ id }) => id);
    },
    /** Removes the pending and expired invitations that these users sent. */
    removeOfInviters: (userIds: readonly string[], on: Executor) =>
      on.write({ text: statements.removeOfInviters, values: [userIds] }),
  };
}
