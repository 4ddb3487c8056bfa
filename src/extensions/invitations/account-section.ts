import {
  type AccountSection,
  ApiError,
  DAY_MS,
  isId,
  type PanelRow,
  type RouteContext,
  revokeInvitation,
} from '../../extension/index.ts';
import type { InvitationContext } from './context.ts';
import { createInvitation, inviteInput, renewInvitation } from './invite.ts';
import { additionalRoles, assertMayInvite, SYSTEM_INVITER } from './rights.ts';
import type { Invitation } from './tables.ts';

const STATES = [
  { id: 'pending', label: 'Pending' },
  { id: 'expired', label: 'Expired' },
  { id: 'accepted', label: 'Accepted' },
] as const;

function toRow({ id, email, roles, invitedBy, status, createdAt, expiresAt, acceptedAt }: Invitation): PanelRow {
  const inviter = invitedBy === SYSTEM_INVITER ? 'System' : invitedBy;
  return {
    id,
    values: { email, roles, invitedBy: inviter, createdAt, ends: acceptedAt ?? expiresAt },
    ...(status === 'accepted' && { actions: [] }),
  };
}

/**
 * Creates the section with the invitations of all users. Administrators of the console see all, but can send and revoke only if the policy
 * setting lets them invite. In development, without a signed-in user, invitations are those of the system.
 */
export function createInvitationSection(context: InvitationContext): AccountSection {
  const { invitations, settings } = context;

  async function assertAllowed(ctx: RouteContext): Promise<void> {
    if (ctx.user !== undefined) await assertMayInvite(context, ctx);
  }

  return {
    id: 'invitations',
    label: 'Invitations',
    intro: `A link by e-mail registers a user with a verified address and with roles. It works for ${settings.ttl / DAY_MS} days; expired and accepted invitations are listed for 30 days more.`,
    columns: [
      { name: 'email', label: 'E-mail address' },
      { name: 'roles', label: 'Roles', kind: 'list' },
      { name: 'invitedBy', label: 'Invited by', kind: 'user' },
      { name: 'createdAt', label: 'Sent', kind: 'time' },
      { name: 'ends', label: 'Expires or accepted', kind: 'time' },
    ],
    empty: 'Use “Invite a user”, or POST /api/invitations.',
    states: STATES,
    async read({ state, after, limit }) {
      const status = STATES.find(({ id }) => id === state)?.id ?? STATES[0].id;
      if (after !== undefined && !isId(after)) throw new ApiError('BAD_REQUEST', 'The parameter "after" must be an id');
      const { page, next } = await invitations.store.list(undefined, { status, after, limit });
      return { rows: page.map(toRow), next };
    },
    rowActions: [
      {
        id: 'invitationResent',
        label: 'Send again',
        done: 'The e-mail with a new link is on its way',
        async run({ rowId }, ctx) {
          await assertAllowed(ctx);
          await renewInvitation(context, { id: rowId, scope: undefined }, ctx);
        },
      },
      {
        id: 'invitationRevoked',
        label: 'Revoke',
        confirm: { title: 'Revoke this invitation?', text: 'Its link stops working at once.' },
        isDangerous: true,
        done: 'The invitation is revoked',
        async run({ rowId }, ctx) {
          await assertAllowed(ctx);
          await revokeInvitation(invitations, { id: rowId, scope: undefined }, ctx);
        },
      },
    ],
    form: {
      id: 'invitationSent',
      label: 'Invite a user',
      fields: [
        { name: 'email', label: 'E-mail address', kind: 'email' },
        {
          name: 'roles',
          label: 'Roles',
          kind: 'choices',
          choices: additionalRoles(context),
          hint: 'In addition to the roles of every new user',
        },
      ],
      done: 'The e-mail with the link is on its way',
      input: inviteInput,
      async run(ctx) {
        await assertAllowed(ctx);
        await createInvitation(context, ctx.input, ctx);
      },
    },
  };
}
