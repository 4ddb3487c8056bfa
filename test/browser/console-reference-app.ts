import { adminConsole, apiKeys, audit, defineResource, defineUser, f, softDelete, webhooks } from '../../src/index.ts';
import { createTestStorage } from '../files/support.ts';
import { startTestApp } from '../support/app.ts';

const user = defineUser({
  roles: ['support', 'billing'],
  fields: { team: f.ref('team', { onDelete: 'setNull' }), phone: f.string() },
});
const team = defineResource('team', {
  description: 'A group of agents that shares a queue.',
  fields: {
    name: f.string().required().unique().searchable(),
    lead: f.ref('user', { onDelete: 'restrict' }),
    parent: f.ref('team', { onDelete: 'setNull' }),
  },
  policies: { create: 'admin', update: 'admin | support', delete: 'none' },
});
const customer = defineResource('customer', {
  fields: {
    name: f.string().required().searchable().sortable(),
    email: f.email().unique(),
    vat: f.string().encrypted(),
  },
  policies: { list: 'support | billing', read: 'support | billing', create: 'support' },
});
const contract = defineResource('contract', {
  fields: {
    customer: f.ref('customer', { onDelete: 'cascade' }).required().filterable(),
    startsAt: f.date().required().sortable(),
    monthlyPrice: f.decimal().min('0'),
    document: f.file({ types: ['application/pdf'] }),
  },
  policies: { list: 'billing', read: 'billing', create: 'billing' },
  indexes: [{ fields: ['customer', '-startsAt'] }],
});
const invoice = defineResource('invoice', {
  fields: {
    contract: f.ref('contract', { onDelete: 'restrict' }).required(),
    total: f.decimal().required(),
    status: f.enum(['draft', 'sent', 'paid', 'overdue']).default('draft').filterable(),
  },
  policies: { list: 'billing', read: 'billing', create: 'billing' },
});
const tag = defineResource('tag', {
  fields: { name: f.string().required().unique() },
  policies: { list: 'public', read: 'public', create: 'support' },
});
const ticket = defineResource('ticket', {
  description: 'A question or problem of a customer, from the first message to the solution.',
  fields: {
    subject: f
      .string()
      .required()
      .max(200)
      .searchable()
      .filterable()
      .sortable()
      .describe('What the ticket is about, in one line'),
    status: f.enum(['new', 'open', 'waiting', 'solved', 'closed']).default('new').filterable(),
    priority: f.integer().min(1).max(5).default(3).filterable().sortable(),
    urgent: f.boolean(),
    dueAt: f.date().filterable().sortable(),
    customer: f.ref('customer', { onDelete: 'cascade' }).filterable(),
    assignee: f.ref('user', { onDelete: 'setNull' }),
    watchers: f.refs('user'),
    tags: f.refs('tag'),
    place: f.object({ street: f.string().required(), city: f.string() }),
    answers: f.array(f.string()),
    secretNote: f.string().writeOnly(),
    cover: f.file({ types: ['image/*'] }),
    author: f.ref('user').owner(),
  },
  policies: {
    list: 'owner | support',
    read: ['owner | support', ({ doc }) => doc?.status === 'solved'],
    create: 'authenticated',
  },
  scope: () => undefined,
  softDelete: true,
  audit: true,
  aggregates: { timestamps: ['createdAt'] },
  hooks: { beforeCreate: (values) => values },
  routes: (route) => [
    route.post(
      '/:id/close',
      {
        policy: 'owner | support',
        rateLimit: { limit: 5, windowMs: 60_000 },
        summary: 'Close a ticket',
        description: 'Sends <b>no</b> mail. The `status` becomes `closed`.',
      },
      ({ doc, service }) => service('ticket').update(doc.id, { status: 'closed' }),
    ),
  ],
});
const message = defineResource('message', {
  fields: {
    ticket: f.ref('ticket', { onDelete: 'cascade' }).required().filterable(),
    text: f.text().required(),
    internal: f.boolean().visibleTo('support'),
    sender: f.ref('user').owner(),
  },
  policies: { list: 'owner | support', read: 'owner | support', create: 'authenticated' },
  crud: ['list', 'read', 'create'],
});
const article = defineResource('knowledge-article', {
  fields: { title: f.string().required(), body: f.text(), related: f.refs('knowledge-article'), tags: f.refs('tag') },
  policies: { list: 'public', read: 'public', create: 'support' },
});
const holiday = defineResource('holiday', {
  fields: { day: f.date().required(), name: f.string() },
  policies: { list: 'public' },
});

const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};

/** Starts a helpdesk with the console, in development or in production. */
export async function startReferenceApp(mode: 'development' | 'production' = 'development') {
  const { storage } = await createTestStorage();
  const isProduction = mode === 'production';
  return startTestApp(
    {
      resources: [user, team, customer, contract, invoice, ticket, message, tag, article, holiday],
      extensions: [softDelete(), audit(), apiKeys(), webhooks(), adminConsole({ production: isProduction })],
      settings: {
        files: { storage },
        rateLimit: { enabled: isProduction ? false : undefined },
        openapi: { title: 'Helpdesk', version: '2.3.0', description: 'Tickets, customers and <i>invoices</i>.' },
      },
    },
    { roles: 'all', ...(isProduction && { env: () => PRODUCTION }) },
  );
}
