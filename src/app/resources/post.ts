import { defineResource, f, recordShape } from '../../index.ts';

/** Articles. Only their authors and editors can read drafts; everybody can read published posts. */
export const post = defineResource('post', {
  description: 'An article',
  fields: {
    title: f.string().required().max(200).searchable().sortable().example('Hello, world'),
    body: f.text().max(20_000),
    status: f.enum(['draft', 'published']).default('draft').filterable(),
    tags: f.array(f.string().max(40)).max(10).filterable(),
    author: f.ref('user').owner().populate(),
  },
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    update: 'owner | editor | admin',
    delete: 'owner | admin',
  },
  scope: ({ user }) => {
    if (user?.roles?.some((role) => role === 'editor' || role === 'admin')) return undefined;
    return user === undefined ? { status: 'published' } : [{ status: 'published' }, { author: user.id }];
  },
  routes: (route) => [
    route.post(
      '/:id/publish',
      {
        policy: 'owner | editor | admin',
        scope: 'posts:publish',
        summary: 'Publish a post',
        output: recordShape('post'),
        errors: ['CONFLICT'],
      },
      ({ doc, service }) => service(post).update(doc.id, { status: 'published' }),
    ),
  ],
});
