import { defineUser, f } from 'belfry';

/** Accounts. A user can be a customer of one organisation and an agent of another one. */
export const user = defineUser({
  fields: { locale: f.string().max(35).describe('The language of e-mails, such as de') },
});
