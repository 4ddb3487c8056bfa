import {
  createDeletedUsersConsumer,
  createInvitationComposer,
  createInvitationMailCounter,
  createInvitationStore,
  createKeyedQueue,
  createRetentionSweep,
  defineExtension,
  defineOwnedTable,
  type Extension,
  INVITATION_RETENTION,
  type Invitations,
  isAddressedToUserSql,
  type Revocation,
  StartupError,
  type VerifiedEmailFields,
  verifiedEmailFields,
} from '../../extension/index.ts';
import { createInvitationSection } from './account-section.ts';
import { type InvitationOptions, invitationSettings } from './context.ts';
import { isInviterEntitled } from './rights.ts';
import { invitationRoutes } from './routes.ts';
import { type Content, INVITATION_TABLE, invitations as invitationTable } from './tables.ts';

export type { InvitationOptions } from './context.ts';

/** The revocations after which no pending invitation of the inviter works: a thief of the account may have sent it. */
const ENDING_CAUSES: ReadonlySet<Revocation['cause']> = new Set([
  'password_reset',
  'email_change_undone',
  'account_claimed',
  'user_deleted',
]);
// Uses indexes invitations_invited_by_index and invitations_accepted_by_index.
const ownedInvitations = defineOwnedTable(invitationTable, { owners: ['invitedBy', 'acceptedBy'] });
// The invitations of one inviter count one after the other.
const LOCK_INVITER = `select pg_advisory_xact_lock(hashtextextended('invitations:' || $1, 0))`;

/**
 * Invitations by e-mail: the link registers a user with a verified address and with roles. With `auth.register: false`, it is the only way
 * to get an account.
 *
 * @example createApp({ resources, extensions: [invitations({ policy: 'admin | editor' })] }, process.env)
 */
export function invitations(
  options: InvitationOptions = {},
): Extension<string, object, { userFields: VerifiedEmailFields }> {
  return defineExtension({
    name: 'invitations',
    tables: { invitations: invitationTable },
    userFields: verifiedEmailFields,
    settings: invitationSettings,
    options,
    setup(host, settings) {
      const { accounts, users, database } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('invitations() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const store = createInvitationStore(database, INVITATION_TABLE);
      const countMail = createInvitationMailCounter(host, settings.mailLimit);
      const invitations: Invitations<Content> = {
        host,
        accounts,
        table: INVITATION_TABLE,
        store,
        settings,
        mail: 'invitation',
        events: 'auth.invitation',
        limitText: `The inviter has ${settings.maxPending} pending invitations, the maximum; revoke one, or wait until one is accepted or expires`,
        countMail: ({ email }) => countMail(email),
        lock: async (inviter, tx) => void (await tx.write({ text: LOCK_INVITER, values: [inviter] })),
        isInviterEntitled: (invitation) => isInviterEntitled({ host, users, settings }, invitation),
      };
      const context = { host, accounts, users, settings, invitations, queue: createKeyedQueue() };
      return {
        routes: invitationRoutes(context),
        accountSections: [createInvitationSection(context)],
        mails: { [invitations.mail]: createInvitationComposer(invitations) },
        revocationStep: async ({ cause, userIds }, tx) => {
          if (ENDING_CAUSES.has(cause)) await store.removeOfInviters(userIds, tx.database);
        },
        consumers: [createDeletedUsersConsumer(users, ownedInvitations)],
        sweeps: [
          createRetentionSweep(database, {
            name: 'old invitations',
            removals: [{ table: invitationTable, keep: INVITATION_RETENTION }],
          }),
        ],
        userData: [
          ownedInvitations.describe(database, {
            name: 'invitations',
            description: 'Invitations that the user sent or accepted, or that were sent to their address',
            exported: ['id', 'email', 'roles', 'invitedBy', 'createdAt', 'acceptedAt'],
            alsoOwned: isAddressedToUserSql(users),
          }),
        ],
      };
    },
  });
}
