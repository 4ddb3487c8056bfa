// Checked only by the compiler (`npm run check`): every line after @ts-expect-error must be an error.
import { z } from 'zod';
import { createApp, defineExtension, defineResource, defineUser, f, privacy, webhooks } from '../../src/index.ts';

const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required(),
    state: f.enum(['open', 'closed']).default('open').readOnly(),
    opener: f.ref('user').owner(),
  },
});

/** Listeners receive the app with the APIs that its extensions provide. */
export function listeners(env: Record<string, string>) {
  const loud = defineExtension({ name: 'loud', setup: () => ({ api: { shout: (text: string) => text.length } }) });
  const silent = defineExtension({ name: 'silent', setup: () => ({}) });
  createApp(
    {
      resources: [defineUser(), ticket],
      extensions: [
        webhooks({ events: { 'invoice.paid': { schema: z.object({ amount: z.number() }) } } }),
        privacy(),
        loud,
        silent,
      ],
      listeners: (app) => {
        app.on('ticket.created', async ({ record }) => {
          app.loud.shout(record.title) satisfies number;
          await app.webhooks.publish('invoice.paid', { amount: 1 }, { owner: record.opener });
          // @ts-expect-error the event cannot be published because it does not exist
          await app.webhooks.publish('invoice.lost', { amount: 1 }, { owner: record.opener });
          // @ts-expect-error the extension has no such function
          app.loud.whisper;
          // @ts-expect-error the extension provides no API
          app.silent;
          // @ts-expect-error the extension is not installed
          app.apiKeys;
        });
      },
    },
    env,
  );
  createApp({ resources: [ticket], listeners: (app) => app.on('ticket.deleted', () => undefined) }, env);
}

/** The privilege decides which fields create and update accept. */
export async function privileges(env: Record<string, string>) {
  const app = createApp({ resources: [defineUser(), ticket] }, env);
  const tickets = app.service(ticket);
  const user = { id: '0123456789abcdef01234567' };
  await tickets.create({ title: 'x', state: 'closed', opener: null });
  await tickets.create({ title: 'x', state: 'closed' }, { as: 'system' });
  await tickets.create({ title: 'x', state: 'closed' }, { as: 'system', user });
  await tickets.create({ title: 'x' }, { as: 'user' });
  await tickets.update('x', { state: 'closed' }, { as: 'system', user, ifMatch: '2030-01-01T00:00:00.000Z' });
  // @ts-expect-error a user cannot set a read-only field
  await tickets.create({ title: 'x', state: 'closed' }, { as: 'user' });
  // @ts-expect-error a user cannot set a read-only field
  await tickets.update('x', { state: 'closed' }, { as: 'user' });
  // @ts-expect-error a user cannot set the owner
  await tickets.create({ title: 'x', opener: null }, { user });
  // @ts-expect-error there are only two privileges
  await tickets.read('x', { as: 'admin' });
}
