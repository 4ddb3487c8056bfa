import { ApiError, defineResource, f, recordShape, tenant } from 'belfry';
import { ticketClosed } from '../mails.ts';
import { isAgent } from '../roles.ts';

/** Tickets. Agents see those of their organisation; customers see their own. */
export const ticket = defineResource('ticket', {
  description: 'A question or problem of a customer',
  icon: 'ticket',
  fields: {
    organisation: tenant(),
    title: f.string().required().max(200).searchable(),
    body: f.text().required().max(20_000).searchable().pii(),
    status: f.enum(['open', 'waiting', 'closed']).default('open').filterable().aggregatable(),
    priority: f.enum(['low', 'normal', 'high', 'urgent']).default('normal').filterable().sortable().aggregatable(),
    tags: f.refs('tag', { max: 10 }).filterable(),
    attachments: f.array(f.file({ maxBytes: 5_000_000, types: ['image/*', 'application/pdf', 'text/plain'] })).max(10),
    // A member of the same organisation. An agent who leaves loses the assignment.
    assignee: f.ref('membership', { onDelete: 'setNull' }).filterable().aggregatable(),
    requester: f.ref('user').owner().filterable(),
  },
  relations: { comments: f.reverse('comment', 'ticket', { limit: 50 }) },
  policies: {
    list: 'owner | org:agent',
    read: 'owner | org:agent',
    create: 'org:customer',
    update: 'org:agent',
    delete: 'org:agent',
  },
  aggregates: { timestamps: ['createdAt'] },
  softDelete: true,
  audit: true,
  hooks: {
    async beforeCreate({ assignee, organisation }, { as, service, user }) {
      if (as === 'user' && assignee && !(await isAgent(service, user, organisation)))
        throw new ApiError('FORBIDDEN', 'Only agents can assign tickets');
    },
    // Stored in the transaction of the update: the e-mail is sent if the ticket is closed, and only then.
    async beforeUpdate({ status }, { status: former, requester, title }, { mail, user }) {
      if (status === 'closed' && former !== 'closed' && requester && requester !== user?.id)
        await mail.send(ticketClosed, { user: requester, title });
    },
  },
  routes: (route) => [
    route.post(
      '/:id/close',
      { policy: 'owner | org:agent', summary: 'Close a ticket', output: recordShape('ticket') },
      ({ doc, service }) => service(ticket).update(doc.id, { status: 'closed' }),
    ),
  ],
});
