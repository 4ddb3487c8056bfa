import { createDeletedUsersConsumer } from '../../accounts/users/user-state.ts';
import type { Revocation, RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, UserData } from '../../declare/host.ts';
import { hashToken } from '../../platform/data/crypto/token.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import { INVITATION_COLUMNS, type Invitation, type InvitationRow, toInvitation } from './tables.ts';

/** Days for which expired and accepted invitations stay in the list. */
const KEPT_DAYS = 30;

// Uses index invitations_pending_email_index. An expired invitation is replaced.
const REMOVE_EXPIRED_OF_ADDRESS =
  'delete from invitations where email = $1 and accepted_at is null and expires_at <= now()';
// Uses index invitations_invited_by_index. The advisory lock makes the invitations of one inviter count one after the other.
const LOCK_INVITER = `select pg_advisory_xact_lock(hashtextextended('invitations:' || $1, 0))`;
const COUNT_PENDING = `
  select count(*)::int from invitations where invited_by = $1 and accepted_at is null and expires_at > now()`;
// Uses index invitations_pending_email_index.
const FIND_PENDING = 'select 1 from invitations where email = $1 and accepted_at is null and expires_at > now()';
const INSERT = `
  insert into invitations (id, email, roles, invited_by, expires_at)
  values ($1, $2, $3, $4, now() + $5::float8 * interval '1 day')
  on conflict (email) where accepted_at is null do nothing
  returning ${INVITATION_COLUMNS}`;
const ISSUE = `
  update invitations set token_hash = $2 where id = $1 and accepted_at is null and expires_at > now()
  returning ${INVITATION_COLUMNS}`;
const RENEW = `
  update invitations set expires_at = now() + $3::float8 * interval '1 day', token_hash = null
  where id = $1 and accepted_at is null and ($2::text is null or invited_by = $2) returning ${INVITATION_COLUMNS}`;
const REMOVE = `
  delete from invitations where id = $1 and accepted_at is null and ($2::text is null or invited_by = $2)
  returning ${INVITATION_COLUMNS}`;
const FIND = `
  select ${INVITATION_COLUMNS} from invitations
  where id = $1 and accepted_at is null and ($2::text is null or invited_by = $2)`;
// Uses index invitations_token_hash_unique.
const FIND_BY_TOKEN = `
  select ${INVITATION_COLUMNS} from invitations where token_hash = $1 and accepted_at is null and expires_at > now()`;
const ACCEPT = `
  update invitations set accepted_at = now(), accepted_by = $2, token_hash = null
  where id = $1 and accepted_at is null and expires_at > now() and token_hash = $3
  returning 1`;
const LIST = `
  select ${INVITATION_COLUMNS} from invitations
  where ($1::text is null or invited_by = $1) and ($2::text is null or id < $2)
    and ($3::text is null or case when accepted_at is not null then 'accepted' when expires_at <= now() then 'expired'
      else 'pending' end = $3)
  order by id desc limit $4`;

/** A page of invitations, newest first. */
interface InvitationFilter {
  /** Only those of this inviter; undefined: all. */
  invitedBy: string | undefined;
  status: Invitation['status'] | undefined;
  after: string | undefined;
  limit: number;
}

/** The invitations in Postgres. */
export interface InvitationStore {
  /** Returns why `create` would store no invitation now; undefined if it would store one. */
  findObstacle(
    given: Pick<Invitation, 'email' | 'invitedBy'>,
    maxPending: number,
  ): Promise<'taken' | 'full' | undefined>;
  /** Stores an invitation. Returns `taken` if the address has a pending one, `full` if the inviter has too many. */
  create(
    given: Pick<Invitation, 'email' | 'roles' | 'invitedBy'>,
    limits: { days: number; maxPending: number },
    tx: Executor,
  ): Promise<Invitation | 'taken' | 'full'>;
  /** Stores the hash of a new link; earlier links stop working. Undefined if the invitation is no longer pending. */
  issue(id: string, token: string): Promise<Invitation | undefined>;
  /** Extends a pending or expired invitation. @param invitedBy only if this user sent it; undefined: any */
  renew(id: string, invitedBy: string | undefined, days: number, on: Executor): Promise<Invitation | undefined>;
  /** Removes a pending or expired invitation. @param invitedBy only if this user sent it; undefined: any */
  remove(id: string, invitedBy: string | undefined, on: Executor): Promise<Invitation | undefined>;
  /** Returns a pending or expired invitation. @param invitedBy only if this user sent it; undefined: any */
  find(id: string, invitedBy: string | undefined): Promise<Invitation | undefined>;
  /** Returns the pending invitation with this link. */
  findByToken(token: string): Promise<Invitation | undefined>;
  /** Marks an invitation as accepted. Returns true for one caller only. */
  accept(id: string, token: string, userId: string, tx: Executor): Promise<boolean>;
  list(filter: InvitationFilter): Promise<Invitation[]>;
}

export function createInvitationStore(database: Database): InvitationStore {
  const first = (rows: InvitationRow[]) => (rows[0] === undefined ? undefined : toInvitation(rows[0]));
  return {
    async findObstacle({ email, invitedBy }, maxPending) {
      const [[pending] = [0]] = await database.write<[number]>({ text: COUNT_PENDING, values: [invitedBy] });
      if (pending >= maxPending) return 'full';
      return (await database.write({ text: FIND_PENDING, values: [email] })).length > 0 ? 'taken' : undefined;
    },
    async create({ email, roles, invitedBy }, { days, maxPending }, tx) {
      await tx.write({ text: LOCK_INVITER, values: [invitedBy] });
      const [[pending] = [0]] = await tx.write<[number]>({ text: COUNT_PENDING, values: [invitedBy] });
      if (pending >= maxPending) return 'full';
      await tx.write({ text: REMOVE_EXPIRED_OF_ADDRESS, values: [email] });
      const values = [newId(), email, roles, invitedBy, days];
      return first(await tx.write<InvitationRow>({ text: INSERT, values })) ?? 'taken';
    },
    async issue(id, token) {
      return first(await database.write<InvitationRow>({ text: ISSUE, values: [id, hashToken(token)] }));
    },
    async renew(id, invitedBy, days, on) {
      return first(await on.write<InvitationRow>({ text: RENEW, values: [id, invitedBy, days] }));
    },
    async remove(id, invitedBy, on) {
      return first(await on.write<InvitationRow>({ text: REMOVE, values: [id, invitedBy] }));
    },
    async find(id, invitedBy) {
      return first(await database.write<InvitationRow>({ text: FIND, values: [id, invitedBy] }));
    },
    async findByToken(token) {
      return first(await database.write<InvitationRow>({ text: FIND_BY_TOKEN, values: [hashToken(token)] }));
    },
    async accept(id, token, userId, tx) {
      return (await tx.write({ text: ACCEPT, values: [id, userId, hashToken(token)] })).length > 0;
    },
    async list({ invitedBy, status, after, limit }) {
      const values = [invitedBy, after, status, limit];
      return (await database.readList<InvitationRow>({ name: 'invitation_list', text: LIST, values })).map(
        toInvitation,
      );
    },
  };
}

// Uses index invitations_invited_by_index.
const REMOVE_OF_INVITERS = 'delete from invitations where invited_by = any($1) and accepted_at is null';
/** The revocations after which no pending invitation of the inviter works: a thief of the account may have sent it. */
const ENDING_CAUSES: ReadonlySet<Revocation['cause']> = new Set([
  'password_reset',
  'email_change_undone',
  'account_claimed',
  'user_deleted',
]);
// Uses indexes invitations_expires_at_index.
const REMOVE_OLD = `
  delete from invitations where id in (
    select id from invitations where expires_at < now() - interval '${KEPT_DAYS} days' order by expires_at limit $1
    for update skip locked
  ) returning 1`;
// Uses indexes invitations_invited_by_index and invitations_accepted_by_index.
const OF_USER = '(invited_by = $1 or accepted_by = $1)';
const ROWS = `
  select id, email, roles, invited_by, created_at, accepted_at from invitations
  where ${OF_USER} and id > $2 order by id limit $3`;
const ROW_NAMES = ['id', 'email', 'roles', 'invitedBy', 'createdAt', 'acceptedAt'];
const REMOVE_OF_USER = `delete from invitations where id in (select id from invitations where ${OF_USER} limit $2) returning 1`;
const REMOVE_OF_USERS = 'delete from invitations where invited_by = any($1) or accepted_by = any($1)';

/** Ends the pending invitations of inviters who are deleted, or whose account a thief may have used. */
export const endInvitations: RevocationStep = async ({ cause, userIds }, { database: on }) => {
  if (ENDING_CAUSES.has(cause)) await on.write({ text: REMOVE_OF_INVITERS, values: [userIds] });
};

/** Creates the sweep that removes invitations a month after they have expired. */
export function createInvitationSweep(database: Pick<Database, 'write'>): Sweep {
  return createRetentionSweep(database, { name: 'old invitations', removals: [{ text: REMOVE_OLD }] });
}

/** Creates the relay consumer that removes the invitations of deleted users. */
export const createInvitationRemovalConsumer = (users: ResourceGateway) =>
  createDeletedUsersConsumer(users, REMOVE_OF_USERS);

/** Describes the invitations of a user, for exports and erasures. */
export function invitationUserData(database: Database): UserData {
  return {
    name: 'invitations',
    description: 'Invitations that the user sent or accepted',
    tables: ['invitations'],
    rows: (userId) => readRowsInPages(database, ROWS, ROW_NAMES, [userId]),
    erase: (userId) => writeInBatches(database, REMOVE_OF_USER, [userId]),
  };
}
