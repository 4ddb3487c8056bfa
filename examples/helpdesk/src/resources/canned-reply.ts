import { defineResource, f, recordShape, tenant } from 'belfry';
import { z } from 'zod';
import { comment } from './comment.ts';

/** Texts that agents use again and again. */
export const cannedReply = defineResource('canned-reply', {
  description: 'A prepared reply',
  icon: 'file',
  fields: {
    organisation: tenant(),
    title: f.string().required().max(100).unique().searchable().sortable(),
    body: f.text().required().max(20_000),
  },
  policies: { list: 'org:agent', read: 'org:agent', create: 'org:agent', update: 'org:agent', delete: 'org:agent' },
  routes: (route) => [
    route.post(
      '/:id/send',
      {
        policy: 'org:agent',
        summary: 'Reply to a ticket with this text',
        input: z.strictObject({ ticket: z.string() }),
        output: recordShape('comment'),
        status: 201,
      },
      // As the user, so that the rules of comments apply.
      ({ doc, input, service }) => service(comment).create({ ticket: input.ticket, body: doc.body }, { as: 'user' }),
    ),
  ],
});
