import { createApp, defineResource, defineUser, f, webhooks } from '../../src/index.ts';

const KINDS = ['Invoice', 'Order', 'Ticket', 'Asset', 'Contract', 'Supplier', 'Shipment', 'Visit', 'Lesson', 'Report'];

/** A resource of typical size: ten fields, relations, rules, a pattern, searchable and filterable fields. */
function defineTypicalResource(name: string, next: string) {
  return defineResource(name, {
    description: `What is measured: one of fifty`,
    fields: {
      title: f.string().required().max(200).searchable().sortable(),
      slug: f
        .string()
        .pattern(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
        .max(100)
        .unique(),
      body: f.text().max(20_000),
      status: f.enum(['open', 'closed', 'late']).default('open').filterable(),
      tags: f.array(f.string().max(40)).max(10).filterable(),
      amount: f.number().min(0).filterable().sortable(),
      dueAt: f.date().filterable().sortable(),
      place: f.object({ city: f.string().max(100), zip: f.string().pattern(/^\d{5}$/) }),
      related: f.ref(next).populate(),
      owner: f.ref('user').owner(),
    },
    policies: { list: 'owner', read: 'owner | admin', create: 'authenticated', update: 'owner', delete: 'admin' },
    routes: (route) => [route.post('/:id/close', { policy: 'owner' }, ({ doc }) => doc)],
  });
}

/** An app with fifty resources besides the user, as `web` serves in a larger product. */
export function createFiftyResourcesApp(environment: Record<string, string | undefined>) {
  const names = ['', 'Draft', 'Old', 'Group', 'Team'].flatMap((part) => KINDS.map((kind) => `${part}${kind}`));
  const resources = names.map((name, i) => defineTypicalResource(name, names[(i + 1) % names.length]!));
  return createApp({ resources: [defineUser(), ...resources], extensions: [webhooks()] }, environment);
}
