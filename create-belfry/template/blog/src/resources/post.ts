import { defineResource, f, recordShape } from 'belfry';

/** Posts. A draft is visible to its author and to editors; a published post is visible to everyone. */
export const post = defineResource('post', {
  description: 'A post',
  fields: {
    title: f.string().required().max(200).searchable().sortable().example('Hello, world'),
    body: f.text().max(20_000),
    status: f.enum(['draft', 'published']).default('draft').filterable().readOnly(),
    tags: f.array(f.string().max(40)).max(10).filterable(),
    author: f.ref('user').owner().populate(),
  },
  // Who may do what. The owner is the user who created the post.
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    update: 'owner | editor | admin',
    delete: 'owner | admin',
  },
  // Which posts exist for a caller, in lists and alone.
  scope: ({ user }) => {
    if (user?.roles?.some((role) => role === 'editor' || role === 'admin')) return undefined;
    return user === undefined ? { status: 'published' } : [{ status: 'published' }, { author: user.id }];
  },
  // Routes besides those for create, read, list, update and delete: POST /api/posts/:id/publish
  routes: (route) => [
    route.post(
      '/:id/publish',
      { policy: 'owner | editor | admin', summary: 'Publish a post', output: recordShape('post') },
      ({ doc, service }) => service(post).update(doc.id, { status: 'published' }),
    ),
  ],
});
