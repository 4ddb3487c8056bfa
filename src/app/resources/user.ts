import { defineUser, f } from '../../index.ts';

/** Accounts: the template's fields (name, email, password, roles, status, avatarUrl) and the fields that this app adds. */
export const user = defineUser({
  fields: {
    bio: f.text().max(500).describe('A few words about the person'),
  },
  roles: ['user', 'admin', 'editor'],
});
