import { index, pgTable, sql, text, timestamptz, uniqueIndex } from '../../platform/data/postgres/drizzle.ts';

/** Invitations of addresses to organisations. Only the SHA-256 of the newest link's token is stored. */
export const organisationInvitations = pgTable(
  'organisation_invitations',
  {
    id: text('id').primaryKey(),
    organisation: text('organisation').notNull(),
    email: text('email').notNull(),
    role: text('role').notNull(),
    invitedBy: text('invited_by').notNull(),
    /** Null until the e-mail is composed, and after the invitation was accepted. */
    tokenHash: text('token_hash').unique(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    expiresAt: timestamptz('expires_at').notNull(),
    acceptedAt: timestamptz('accepted_at'),
    /** The user who accepted the invitation. */
    acceptedBy: text('accepted_by'),
  },
  (table) => [
    uniqueIndex('organisation_invitations_pending_index')
      .on(table.organisation, table.email)
      .where(sql`accepted_at is null`),
    index('organisation_invitations_organisation_index').on(table.organisation, table.id),
    index('organisation_invitations_invited_by_index').on(table.invitedBy, table.id),
    index('organisation_invitations_accepted_by_index').on(table.acceptedBy).where(sql`accepted_by is not null`),
    index('organisation_invitations_expires_at_index').on(table.expiresAt),
  ],
);

/** Deleted organisations whose records are still being deleted. */
export const organisationDeletions = pgTable('organisation_deletions', {
  /** The id of the organisation. */
  id: text('id').primaryKey(),
  /** The user who deleted the organisation; null for the system. */
  deletedBy: text('deleted_by'),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
});
