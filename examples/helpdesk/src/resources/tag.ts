import { defineResource, f, tenant } from 'belfry';

/** Tags of tickets. `include=ticketsCount` counts the tickets that the caller sees. */
export const tag = defineResource('tag', {
  description: 'A tag of tickets',
  icon: 'tag',
  fields: {
    organisation: tenant(),
    name: f.string().required().max(40).unique().filterable().sortable(),
  },
  relations: { tickets: f.reverse('ticket', 'tags') },
  policies: { create: 'org:agent', update: 'org:agent', delete: 'org:agent' },
});
