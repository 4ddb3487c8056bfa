import { defineUser } from 'belfry';

/** Accounts. Every account has name, email, password, roles, status and avatarUrl. Declare more fields here. */
export const user = defineUser({
  fields: {},
  roles: ['user', 'admin'],
});
