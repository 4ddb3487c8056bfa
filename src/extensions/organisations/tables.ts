import {
  index,
  invitationColumns,
  invitationIndexes,
  pgTable,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../../extension/index.ts';

/** Invitations of addresses to organisations. */
export const organisationInvitations = pgTable(
  'organisation_invitations',
  { ...invitationColumns(), organisation: text('organisation').notNull(), role: text('role').notNull() },
  (table) => [
    uniqueIndex('organisation_invitations_pending_index')
      .on(table.organisation, table.email)
      .where(sql`accepted_at is null`),
    index('organisation_invitations_organisation_index').on(table.organisation, table.id),
    index('organisation_invitations_email_index').on(table.email),
    ...invitationIndexes('organisation_invitations', table),
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
