// Checked only by the compiler (`npm run check`): every line after @ts-expect-error must be an error.
import { createApp, defineResource, defineUser, f, type ScopeFilter } from '../../src/index.ts';

// The two resources refer to each other and to themselves, like resources in two files.
const team = defineResource('team', {
  fields: {
    name: f.string().required(),
    size: f.integer().default(0),
    notes: f.string().visibleTo(async ({ service }): Promise<boolean> => (await service(team).count()) > 1),
  },
  policies: {
    update: async ({ service, doc }): Promise<boolean> => (await service(player).count({ team: doc.id })) > 0,
  },
  async scope({ service }): Promise<ScopeFilter> {
    const { data } = await service(player).list();
    return { id: data.map((one) => one.team) };
  },
  hooks: {
    async beforeCreate(values, { service }) {
      const same = await service(team).first({ name: values.name });
      same?.size satisfies number | undefined;
      // @ts-expect-error the field does not exist on the record
      same?.nope;
      // @ts-expect-error the name is required
      await service(team).create({});
      return service(player).create({ team: 'x' });
    },
  },
  routes: (route) => [
    route.post('/:id/join', async ({ doc, service, transaction }) =>
      transaction(async (tx) => {
        const made = await tx.service(player).create({ team: doc.id });
        made.team satisfies string;
        return service(team).update(doc.id, { size: doc.size + 1 });
      }),
    ),
  ],
});
const player = defineResource('player', {
  fields: { team: f.ref('team').required(), goals: f.integer() },
  hooks: {
    async afterCreate(record, { service }) {
      return service(team).update(record.team, { size: 1 });
    },
  },
});
const absent = defineResource('absent', { fields: { a: f.string() } });

const app = createApp({ resources: [defineUser(), team, player] }, {});

export async function calls(name: 'team' | 'player') {
  (await app.service(team).create({ name: 'x' })).size satisfies number;
  (await app.transaction((tx) => tx.service(player).read('x'))).goals satisfies number | undefined;
  // @ts-expect-error an unknown field
  await app.service(team).create({ name: 'x', nope: 1 });
  // @ts-expect-error the app does not have the resource
  app.service(absent);
  // @ts-expect-error neither a resource nor a name
  app.service(1);
  await app.service(name).create({ name: 'x', team: 'x' });
}
