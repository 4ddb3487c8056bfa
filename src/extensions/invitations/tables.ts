import {
  type InvitationTable,
  type Invitation as InvitationWith,
  index,
  invitationColumns,
  invitationIndexes,
  pgTable,
  sql,
  text,
  uniqueIndex,
} from '../../extension/index.ts';

/** The invitations of addresses. */
export const invitations = pgTable(
  'invitations',
  { ...invitationColumns(), roles: text('roles').array().notNull().default([]) },
  (table) => [
    uniqueIndex('invitations_pending_email_index').on(table.email).where(sql`accepted_at is null`),
    index('invitations_email_index').on(table.email),
    ...invitationIndexes('invitations', table),
  ],
);

/** What an invitation is for. */
export interface Content {
  email: string;
  /** Roles that the invited user gets in addition to those of every new user. */
  roles: string[];
}

/** An invitation as inviters see it. */
export type Invitation = InvitationWith<Content>;

/** Pending invitations are limited and listed by inviter. An address has at most one pending invitation, from any inviter. */
export const INVITATION_TABLE: InvitationTable<Content> = {
  name: 'invitations',
  content: ['email', 'roles'],
  scope: 'invited_by',
  uniqueBy: ['email'],
};
