import { z } from 'zod';
import {
  createApp,
  defineResource,
  defineUser,
  emailVerification,
  f,
  organisations,
  recordShape,
  softDelete,
  tenant,
} from '../../src/index.ts';

const user = defineUser({ fields: { nickname: f.string().sortable() }, roles: ['librarian'] });

const author = defineResource('author', {
  description: 'A writer',
  fields: {
    name: f.string().required().filterable().sortable().searchable(),
    born: f.date().filterable(['lt', 'gte']),
    publisher: f.ref('publishing-house').filterable(),
  },
  relations: { books: f.reverse('book', 'authors', { limit: 5 }) },
});

const house = defineResource('publishingHouse', {
  path: '/shop/houses',
  fields: { name: f.string().required().filterable().sortable() },
  crud: ['list', 'read'],
  timestamps: false,
});

const book = defineResource('book', {
  fields: {
    organisation: tenant(),
    isbn: f.string().required().unique().immutable(),
    title: f.string().required().max(200).searchable().sortable().filterable(),
    genre: f.enum(['novel', 'poetry']).default('novel').filterable().aggregatable(),
    pages: f.integer().filterable().sortable().aggregatable(),
    price: f.decimal({ precision: 12, scale: 2 }).filterable().aggregatable(),
    published: f.date().filterable().sortable().aggregatable(),
    keywords: f.array(f.string().max(40)).filterable(['in', 'all']),
    place: f.object({ shelf: f.string().required(), row: f.integer() }),
    settings: f.json(z.strictObject({ theme: z.enum(['dark', 'light']) })),
    cover: f.file({ types: ['image/*'], image: { variants: {} } }),
    scans: f.array(f.file()).max(3),
    authors: f.refs('author', { max: 10 }).filterable().required(),
    editor: f.ref('user').populate(),
    cost: f.number().visibleTo('librarian'),
    code: f.string().writeOnly(),
    secret: f.string().hidden(),
    stock: f.integer().readOnly().default(0),
  },
  relations: { loans: f.reverse('loan', 'book') },
  aggregates: { timestamps: ['createdAt'] },
  softDelete: true,
  routes: (route) => [
    route.post(
      '/:id/lend',
      { input: z.strictObject({ to: z.string() }), output: recordShape('loan') },
      () => undefined,
    ),
    route.get('/newest', { output: z.array(recordShape('book')) }, () => []),
    route.get('/:id/price', { output: z.object({ amount: z.number(), at: z.iso.datetime() }) }, () => undefined),
    route.post('/sort', () => undefined),
  ],
});

const loan = defineResource('loan', {
  fields: {
    organisation: tenant(),
    book: f.ref('book', { onDelete: 'cascade' }).required().immutable().filterable(),
    reader: f.ref('user').owner().filterable(),
    returned: f.boolean().default(false).filterable(),
  },
});

/** An app with every kind of field, relation and route that the types of a client know. */
export const app = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [user, author, house, book, loan],
      extensions: [organisations({ roles: ['owner', 'member'] }), softDelete(), emailVerification()],
    },
    environment,
  );
