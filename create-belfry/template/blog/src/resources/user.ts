import { defineUser, f } from 'belfry';

/** Accounts. Every account has name, email, password, roles, status and avatarUrl; these are the fields that this app adds. */
export const user = defineUser({
  fields: {
    bio: f.text().max(500).describe('A few words about the person'),
  },
  roles: ['user', 'editor', 'admin'],
});
