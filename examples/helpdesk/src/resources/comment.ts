import { ApiError, defineResource, f, type PolicyFunction, tenant } from 'belfry';
import { ticketAnswered } from '../mails.ts';
import { isAgent } from '../roles.ts';
import { ticket } from './ticket.ts';

/** Customers see the replies to their own tickets, without internal notes. */
const isReplyToOwnTicket: PolicyFunction = ({ user }) =>
  user !== undefined && { internal: false, 'ticket.requester': user.id };

/** Replies of agents and customers, and internal notes, which only agents see. */
export const comment = defineResource('comment', {
  description: 'A reply to a ticket, or an internal note about it',
  icon: 'message',
  fields: {
    organisation: tenant(),
    ticket: f.ref('ticket', { onDelete: 'cascade' }).required().immutable().filterable(),
    body: f.text().required().max(20_000).searchable(),
    internal: f.boolean().default(false).immutable().filterable(),
    author: f.ref('user').owner().populate(),
  },
  policies: {
    list: ['org:agent', isReplyToOwnTicket],
    read: ['org:agent', isReplyToOwnTicket],
    create: 'org:customer',
    update: 'owner',
    delete: 'org:agent',
  },
  indexes: [{ fields: ['ticket', '-createdAt'] }],
  // When an account is erased, its replies stay in the tickets of others, without the author.
  onOwnerDelete: 'anonymize',
  softDelete: true,
  hooks: {
    /** A reply of an agent waits for the customer and is announced by e-mail; a reply of the customer opens the ticket again. */
    async beforeCreate({ internal, organisation, ticket: id }, { mail, service, user }) {
      const byAgent = await isAgent(service, user, organisation);
      if (internal && !byAgent) throw new ApiError('FORBIDDEN', 'Only agents can write internal notes');
      if (internal) return;
      const { requester, title } = await service(ticket).update(id, { status: byAgent ? 'waiting' : 'open' });
      if (byAgent && requester) await mail.send(ticketAnswered, { user: requester, title });
    },
  },
});
