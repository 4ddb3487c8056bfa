import { index, pgTable, sql, text, timestamptz, uniqueIndex } from '../../platform/data/postgres/drizzle.ts';

/** Invitations of addresses. Only the SHA-256 of the newest link's token is stored. */
export const invitations = pgTable(
  'invitations',
  {
    id: text('id').primaryKey(),
    email: text('email').notNull(),
    /** Roles that the invited user gets in addition to those of every new user. */
    roles: text('roles').array().notNull().default([]),
    invitedBy: text('invited_by').notNull(),
    /** Null until the e-mail is composed, and after the invitation was accepted or revoked. */
    tokenHash: text('token_hash').unique(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    expiresAt: timestamptz('expires_at').notNull(),
    acceptedAt: timestamptz('accepted_at'),
    /** The user who accepted the invitation. */
    acceptedBy: text('accepted_by'),
  },
  (table) => [
    uniqueIndex('invitations_pending_email_index').on(table.email).where(sql`accepted_at is null`),
    index('invitations_invited_by_index').on(table.invitedBy, table.id),
    index('invitations_accepted_by_index').on(table.acceptedBy).where(sql`accepted_by is not null`),
    index('invitations_expires_at_index').on(table.expiresAt),
  ],
);

/** The columns of an invitation, for `toInvitation`. */
export const INVITATION_COLUMNS =
  'id, email, roles, invited_by, created_at, expires_at, accepted_at, accepted_by, expires_at <= now() and accepted_at is null';

/** An invitation as Postgres returns the `INVITATION_COLUMNS`. */
export type InvitationRow = [
  id: string,
  email: string,
  roles: string[],
  invitedBy: string,
  createdAt: string,
  expiresAt: string,
  acceptedAt: string | null,
  acceptedBy: string | null,
  isExpired: boolean,
];

/** An invitation as inviters see it. */
export interface Invitation {
  id: string;
  email: string;
  roles: string[];
  invitedBy: string;
  status: 'pending' | 'accepted' | 'expired';
  createdAt: string;
  expiresAt: string;
  acceptedAt: string | null;
}

/** Converts a row that was selected with `INVITATION_COLUMNS`. */
export function toInvitation(row: InvitationRow): Invitation {
  const [id, email, roles, invitedBy, createdAt, expiresAt, acceptedAt, , isExpired] = row;
  const status = acceptedAt !== null ? 'accepted' : isExpired ? 'expired' : 'pending';
  return { id, email, roles, invitedBy, status, createdAt, expiresAt, acceptedAt };
}
