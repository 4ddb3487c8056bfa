// Checked by the compiler alone (`npm run check`): every line after @ts-expect-error must be an error.
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required(),
    status: f.enum(['draft', 'published']).default('draft'),
    score: f.integer(),
    tags: f.array(f.string()),
    place: f.object({ city: f.string().required(), zip: f.string() }),
    author: f.ref('user').owner(),
  },
  hooks: {
    beforeCreate(values) {
      values.title satisfies string;
      // @ts-expect-error a hook knows the fields
      values.nope;
    },
    beforeUpdate(changes, record) {
      record.title satisfies string;
      changes.title satisfies string | undefined;
    },
  },
  routes: (route) => [
    // @ts-expect-error an option that a route does not have
    route.get('/a', { polizy: 'public' }, () => 1),
  ],
});

const app = createApp({ resources: [defineUser({ fields: { phone: f.string() } }), post] }, {});
const posts = app.service('post');

export async function calls() {
  const made = await posts.create({ title: 'x' });
  made.id satisfies string;
  made.createdAt satisfies string;
  made.title satisfies string;
  made.status satisfies 'draft' | 'published';
  made.score satisfies number | undefined;
  made.tags satisfies string[] | undefined;
  made.place?.city satisfies string | undefined;
  await posts.create({ title: 'x', status: 'published', place: { city: 'Bern' } });
  await posts.update(made.id, { score: null, status: 'draft' });
  (await posts.list({ limit: 5 })).data[0]!.title satisfies string;
  (await posts.list()).meta.total satisfies number;
  (await posts.list({ limit: 5 })).meta.next satisfies string | undefined;
  (await posts.list({ count: 'none' })).meta satisfies { limit: number; next: string | null };
  (await posts.list({ after: 'cursor' })).meta.next satisfies string | null;
  (await app.service('user').read('x')).phone satisfies string | undefined;

  // @ts-expect-error nothing is counted behind a cursor
  (await posts.list({ after: 'cursor' })).meta.total;
  // @ts-expect-error the end of a list is no cursor
  await posts.list({ after: null });
  // @ts-expect-error the title is required
  await posts.create({});
  // @ts-expect-error an unknown field
  await posts.create({ title: 'x', nope: 1 });
  // @ts-expect-error not one of the values
  await posts.create({ title: 'x', status: 'lost' });
  // @ts-expect-error a title is a string
  await posts.create({ title: 1 });
  // @ts-expect-error the city is required in a place
  await posts.create({ title: 'x', place: {} });
  // @ts-expect-error a required field can't be cleared
  await posts.update(made.id, { title: null });
  // @ts-expect-error an unknown field
  await posts.update(made.id, { nope: 1 });
  // @ts-expect-error there is no such field
  made.nope;
  // @ts-expect-error there is no such resource
  app.service('nope');
  // @ts-expect-error there is no such setting
  createApp({ resources: [], settings: { auht: {} } }, {});
  // @ts-expect-error there is no such option
  defineResource('a', { fields: {}, polizies: {} });
  // @ts-expect-error there is no such action
  defineResource('a', { fields: {}, policies: { lsit: 'public' } });
  // @ts-expect-error there is no such operator
  f.string().filterable(['like']);
  // @ts-expect-error a default has the type of the field
  f.integer().default('1');
}
