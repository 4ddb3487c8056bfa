// An app that sends webhooks, of which test/cli/webhook-types.test.ts writes the types.
import { z } from 'zod';
import { createApp, defineResource, defineUser, f, recordShape, softDelete, webhooks } from '../../src/index.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required(),
    staff: f.string().visibleTo('admin'),
    hidden: f.string().hidden(),
    pin: f.string().writeOnly(),
    status: f.enum(['draft', 'published']).default('draft'),
    editor: f.ref('user'),
    author: f.ref('user').owner().populate(),
    friends: f.array(f.ref('user')).populate(),
  },
  softDelete: true,
});
const secret = defineResource('secret', { fields: { text: f.string() }, webhooks: false });
const events = defineResource('webhook-events', {
  description: 'A webhook event',
  collection: 'hooks',
  // The name of the operation that lists them is taken.
  crud: ['read', 'create'],
  fields: { note: f.string() },
});
const paid = z.object({
  amount: z.number(),
  lines: z.array(z.object({ text: z.string() })).optional(),
  post: recordShape('post').optional(),
});

export const app = (env: NodeJS.ProcessEnv = process.env) =>
  createApp(
    {
      resources: [defineUser(), post, secret, events],
      extensions: [
        softDelete(),
        webhooks({ events: { 'invoice.paid': { schema: paid, description: 'An invoice was paid' } } }),
      ],
    },
    env,
  );
