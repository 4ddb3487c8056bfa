import { apiKeys, createApp, defineResource, defineUser, f, webhooks } from '../../src/index.ts';

const task = defineResource('task', {
  fields: {
    title: f.string().required().max(200),
    done: f.boolean().default(false),
    remindAt: f.date().default(() => new Date()),
    owner: f.ref('user').owner(),
  },
  policies: { list: 'owner | admin', read: 'owner | admin' },
});

const comment = defineResource('comment', {
  fields: { text: f.text().required(), task: f.ref('task').required(), author: f.ref('user').owner() },
});

/** A small app with the features that belfry/testing has helpers for. */
export const app = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [
        defineUser({
          fields: {
            phone: f
              .string()
              .pattern(/^\+\d{6,}$/)
              .required(),
          },
        }),
        task,
        comment,
      ],
      extensions: [webhooks({ retrySchedule: ['1h', '1d'], notifyOwner: false }), apiKeys()],
      settings: { auth: { register: false, password: { logN: 4, r: 8, p: 1 } } },
      listeners: (created) => {
        created.on('task.created', async ({ record }) => {
          if (record.owner) await created.push.send({ to: record.owner, title: `New task: ${record.title}` });
        });
      },
    },
    environment,
  );
