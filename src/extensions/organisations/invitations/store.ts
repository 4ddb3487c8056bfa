import { hashToken } from '../../../platform/data/crypto/token.ts';
import type { Database, Executor } from '../../../platform/data/postgres/database.ts';
import { newId } from '../../../platform/helpers/ids.ts';
import { createRetentionSweep } from '../../../platform/work/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/work/outbox/relay.ts';

/** Days for which expired and accepted invitations stay in the list. */
const KEPT_DAYS = 30;

const COLUMNS =
  'id, organisation, email, role, invited_by, created_at, expires_at, accepted_at, expires_at <= now() and accepted_at is null';

type InvitationRow = [
  id: string,
  organisation: string,
  email: string,
  role: string,
  invitedBy: string,
  createdAt: string,
  expiresAt: string,
  acceptedAt: string | null,
  isExpired: boolean,
];

/** An invitation to an organisation, as its managers see it. */
export interface OrganisationInvitation {
  id: string;
  organisation: string;
  email: string;
  role: string;
  /** The id of the user who sent it. */
  invitedBy: string;
  status: 'pending' | 'accepted' | 'expired';
  createdAt: string;
  expiresAt: string;
  acceptedAt: string | null;
}

function toInvitation(row: InvitationRow): OrganisationInvitation {
  const [id, organisation, email, role, invitedBy, createdAt, expiresAt, acceptedAt, isExpired] = row;
  const status = acceptedAt !== null ? 'accepted' : isExpired ? 'expired' : 'pending';
  return { id, organisation, email, role, invitedBy, status, createdAt, expiresAt, acceptedAt };
}

// Uses organisation_invitations_organisation_index.
const COUNT_PENDING = `
  select count(*)::int from organisation_invitations
  where organisation = $1 and accepted_at is null and expires_at > now()`;
// Uses organisation_invitations_pending_index.
const FIND_PENDING = `
  select 1 from organisation_invitations
  where organisation = $1 and email = $2 and accepted_at is null and expires_at > now()`;
// Uses organisation_invitations_pending_index. An expired invitation is replaced.
const REMOVE_EXPIRED = `
  delete from organisation_invitations
  where organisation = $1 and email = $2 and accepted_at is null and expires_at <= now()`;
const INSERT = `
  insert into organisation_invitations (id, organisation, email, role, invited_by, expires_at)
  values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 day')
  on conflict (organisation, email) where accepted_at is null do nothing returning ${COLUMNS}`;
const ISSUE = `
  update organisation_invitations set token_hash = $2 where id = $1 and accepted_at is null and expires_at > now()
  returning 1`;
const RENEW = `
  update organisation_invitations set expires_at = now() + $3::float8 * interval '1 day', token_hash = null, invited_by = $4
  where id = $1 and organisation = $2 and accepted_at is null returning ${COLUMNS}`;
const REMOVE = `
  delete from organisation_invitations where id = $1 and organisation = $2 and accepted_at is null returning ${COLUMNS}`;
const FIND = `select ${COLUMNS} from organisation_invitations where id = $1 and accepted_at is null`;
// Uses organisation_invitations_token_hash_unique.
const FIND_BY_TOKEN = `
  select ${COLUMNS} from organisation_invitations where token_hash = $1 and accepted_at is null and expires_at > now()`;
const ACCEPT = `
  update organisation_invitations set accepted_at = now(), accepted_by = $2, token_hash = null
  where id = $1 and accepted_at is null and expires_at > now() and token_hash = $3 returning 1`;
const LIST = `
  select ${COLUMNS} from organisation_invitations
  where organisation = $1 and ($2::text is null or id < $2)
    and ($3::text is null or case when accepted_at is not null then 'accepted' when expires_at <= now() then 'expired'
      else 'pending' end = $3)
  order by id desc limit $4`;
// Uses organisation_invitations_expires_at_index.
const REMOVE_OLD = `
  delete from organisation_invitations where id in (
    select id from organisation_invitations where expires_at < now() - interval '${KEPT_DAYS} days'
    order by expires_at limit $1 for update skip locked
  ) returning 1`;

/** The invitations of organisations in Postgres. */
export interface InvitationStore {
  countPending(organisation: string, on: Executor): Promise<number>;
  /** Whether an address has a pending invitation to the organisation. */
  isInvited(organisation: string, email: string): Promise<boolean>;
  /** Returns undefined if the address has a pending invitation to the organisation. */
  create(
    given: Pick<OrganisationInvitation, 'organisation' | 'email' | 'role' | 'invitedBy'>,
    days: number,
    on: Executor,
  ): Promise<OrganisationInvitation | undefined>;
  /** Stores the hash of a new link; earlier links stop working. Returns false if the invitation is no longer pending. */
  issue(id: string, token: string): Promise<boolean>;
  /** Extends a pending or expired invitation in the name of the user who sends it again. */
  renew(
    given: Pick<OrganisationInvitation, 'id' | 'organisation' | 'invitedBy'>,
    days: number,
    on: Executor,
  ): Promise<OrganisationInvitation | undefined>;
  /** Removes a pending or expired invitation of the organisation. */
  remove(id: string, organisation: string, on: Executor): Promise<OrganisationInvitation | undefined>;
  /** Returns a pending or expired invitation. */
  find(id: string, on: Executor): Promise<OrganisationInvitation | undefined>;
  /** Returns the pending invitation with this link. */
  findByToken(token: string): Promise<OrganisationInvitation | undefined>;
  /** Marks an invitation as accepted. Returns true for one caller only. */
  accept(id: string, token: string, userId: string, on: Executor): Promise<boolean>;
  /** Returns a page of the invitations of an organisation, newest first. */
  list(filter: {
    organisation: string;
    status: OrganisationInvitation['status'] | undefined;
    after: string | undefined;
    limit: number;
  }): Promise<OrganisationInvitation[]>;
}

export function createInvitationStore(database: Database): InvitationStore {
  const first = (rows: InvitationRow[]) => (rows[0] === undefined ? undefined : toInvitation(rows[0]));
  return {
    async countPending(organisation, on) {
      return (await on.write<[number]>({ text: COUNT_PENDING, values: [organisation] }))[0]![0];
    },
    async isInvited(organisation, email) {
      return (await database.write({ text: FIND_PENDING, values: [organisation, email] })).length > 0;
    },
    async create({ organisation, email, role, invitedBy }, days, on) {
      await on.write({ text: REMOVE_EXPIRED, values: [organisation, email] });
      const values = [newId(), organisation, email, role, invitedBy, days];
      return first(await on.write<InvitationRow>({ text: INSERT, values }));
    },
    async issue(id, token) {
      return (await database.write({ text: ISSUE, values: [id, hashToken(token)] })).length > 0;
    },
    async renew({ id, organisation, invitedBy }, days, on) {
      return first(await on.write<InvitationRow>({ text: RENEW, values: [id, organisation, days, invitedBy] }));
    },
    async remove(id, organisation, on) {
      return first(await on.write<InvitationRow>({ text: REMOVE, values: [id, organisation] }));
    },
    async find(id, on) {
      return first(await on.write<InvitationRow>({ text: FIND, values: [id] }));
    },
    async findByToken(token) {
      return first(await database.write<InvitationRow>({ text: FIND_BY_TOKEN, values: [hashToken(token)] }));
    },
    async accept(id, token, userId, on) {
      return (await on.write({ text: ACCEPT, values: [id, userId, hashToken(token)] })).length > 0;
    },
    async list({ organisation, status, after, limit }) {
      const values = [organisation, after, status, limit];
      return (await database.readList<InvitationRow>({ name: 'organisation_invitation_list', text: LIST, values })).map(
        toInvitation,
      );
    },
  };
}

/** Creates the sweep that removes invitations a month after they have expired. */
export function createInvitationSweep(database: Pick<Database, 'write'>): Sweep {
  return createRetentionSweep(database, { name: 'old invitations to organisations', removals: [{ text: REMOVE_OLD }] });
}
