import { defineResource, f } from '../../index.ts';

/** Comments on posts. */
export const comment = defineResource('comment', {
  description: 'A comment on a post',
  fields: {
    post: f.ref('post').required().immutable().filterable(),
    body: f.text().required().max(2000),
    author: f.ref('user').owner().populate(),
  },
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    update: 'owner',
    delete: 'owner | editor | admin',
  },
  defaultSort: 'createdAt',
});
