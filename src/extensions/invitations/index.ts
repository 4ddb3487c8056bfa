import { createInvitationMailCounter } from '../../accounts/invitation-mails.ts';
import { type VerifiedEmailFields, verifiedEmailFields } from '../../accounts/users/verified-email.ts';
import type { Extension } from '../../declare/extension.ts';
import { defineExtension } from '../../extension/define-extension.ts';
import { createKeyedQueue } from '../../platform/helpers/concurrency/serial-queue.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { createInvitationSection } from './account-section.ts';
import { type InvitationOptions, invitationSettings } from './context.ts';
import { createInvitationComposer, INVITATION_MAIL } from './mail.ts';
import { invitationRoutes } from './routes.ts';
import {
  createInvitationRemovalConsumer,
  createInvitationStore,
  createInvitationSweep,
  endInvitations,
  invitationUserData,
} from './store.ts';
import { invitations as invitationTable } from './tables.ts';

export type { InvitationOptions } from './context.ts';

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
      const store = createInvitationStore(database);
      const countMail = createInvitationMailCounter(host, settings.mailLimit);
      const context = { host, accounts, users, settings, store, queue: createKeyedQueue(), countMail };
      return {
        routes: invitationRoutes(context),
        accountSections: [createInvitationSection(context)],
        mails: { [INVITATION_MAIL]: createInvitationComposer(context) },
        revocationStep: endInvitations,
        consumers: [createInvitationRemovalConsumer(users)],
        sweeps: [createInvitationSweep(database)],
        userData: [invitationUserData(database)],
      };
    },
  });
}
