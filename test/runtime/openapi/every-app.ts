// An app with every field type, modifier, kind of policy, option and custom route.
import { z } from 'zod';
import {
  ApiError,
  apiKeys,
  audit,
  defineExtension,
  defineResource,
  defineUser,
  f,
  passkeys,
  privacy,
  recordShape,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../src/index.ts';

/** Must never appear in a response. */
export const SECRET = 'S3CRET-VALUE';

const place = f.object({
  city: f.string().required().max(40),
  zip: f.string().default('0000'),
  deep: f.object({ n: f.number().min(0), list: f.array(f.integer()) }),
});

const binned = defineResource('binned', {
  fields: { title: f.string().required().filterable(), author: f.ref('user').owner() },
  softDelete: true,
  audit: true,
  deprecated: { delete: { since: '2026-11-01' } },
});

const thing = defineResource('thing', {
  description: 'A thing of every kind',
  fields: {
    title: f
      .string()
      .required()
      .max(50)
      .filterable()
      .sortable()
      .searchable()
      .describe('What it is called')
      .example('A'),
    body: f.text().min(2).max(500).searchable(),
    mail: f.email().filterable().visibleTo('owner'),
    phone: f.string().max(30).pii(),
    site: f.url().unique(),
    word: f.password(),
    amount: f.integer().min(-5).max(1000).filterable().sortable(),
    price: f.number().min(0.5).filterable(),
    live: f.boolean().default(false).filterable(),
    at: f.date().min('2000-01-01').filterable().sortable(),
    made: f.date().default(() => '2026-01-01T00:00:00.000Z'),
    kind: f.enum(['a', 'b', 'c']).default('a').filterable(),
    mode: f.enum(['on', 'off']).required().default('on'),
    code: f.id().filterable(),
    other: f.ref('thing').filterable().populate(),
    friends: f.array(f.ref('user')).max(5).filterable(),
    tags: f.array(f.string().max(20)).max(4).filterable(),
    numbers: f.array(f.integer()).max(3).filterable(['all', 'exists']),
    kinds: f.array(f.enum(['x', 'y'])),
    places: f.array(place).max(2),
    place,
    data: f.json().filterable(),
    sealed: f.string().max(100).encrypted(),
    hidden: f.string().hidden().default(SECRET),
    pin: f.string().max(10).writeOnly(),
    stamp: f.string().readOnly().default('stamped'),
    slug: f
      .string()
      .pattern(/^[a-z]+$/)
      .trim(false)
      .immutable(),
    badge: f.string().pattern(/^[a-z]{1,5}-[0-9]$/),
    staff: f.string().visibleTo('admin').writableBy('admin').filterable().sortable().searchable(),
    watched: f.string().visibleTo(({ doc, user }) => doc.title === user?.name),
    guarded: f.string().writableBy('owner | admin'),
    former: f.string().filterable().deprecated({ since: '2026-11-01', sunset: '2027-06-01', use: 'title' }),
    closed: f.string().writableBy('none'),
    checked: f.integer().check((value) => value % 2 === 0 || 'Must be even'),
    shaped: f.string().schema(z.string().transform((text) => `${text}!`.repeat(3))),
    reshaped: f
      .object({ a: f.string() })
      .schema(z.object({ a: z.string().optional() }).transform((o) => ({ ...o, b: 1 }))),
    shout: f
      .string()
      .uppercase()
      .pattern(/^[A-Z]*$/),
    author: f.ref('user').owner().filterable(),
  },
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    update: 'owner | admin',
    delete: 'owner | admin',
  },
  routes: (route) => [
    route.post('/:id/echo', { policy: 'public' }, ({ doc }) => [doc]),
    route.post(
      '/:id/retitle',
      {
        policy: 'owner',
        input: z.strictObject({ title: z.string().min(1).max(50) }),
        output: recordShape('thing'),
        errors: ['CONFLICT'],
      },
      ({ doc, input, service }) => service('thing').update(doc.id, input),
    ),
    route.get(
      '/stats',
      {
        policy: 'public',
        query: z.object({ since: z.iso.date().optional() }),
        output: z.object({ count: z.int(), newest: recordShape('thing').nullable() }),
        errors: [],
        description: 'How many there are.',
      },
      async ({ service, user }) => {
        const { data, meta } = await service('thing').list({ limit: 1 }, { user });
        return { count: (meta as { total: number }).total, newest: data[0] ?? null };
      },
    ),
    route.post('/:slug', { policy: 'public', operationId: 'postToThing' }, ({ params }) => params),
    route.get(
      '/paged/list{/:page}',
      { policy: 'public', output: z.object({ page: z.string().optional() }), errors: [] },
      ({ params }) => ({ page: params.page }),
    ),
    route.put(
      '/settings',
      {
        policy: 'admin',
        input: { '~standard': { version: 1 as const, vendor: 'other', validate: (value) => ({ value }) } },
      },
      ({ input }) => input,
    ),
    route.patch(
      '/settings',
      {
        policy: ['editor', ({ user }) => user?.name === 'Ann'],
        input: {
          '~standard': {
            version: 1,
            vendor: 'other',
            validate: (value: unknown) => ({ value }),
            jsonSchema: {
              input: () => ({ type: 'object', properties: { dark: { type: 'boolean' } } }),
              output: () => ({}),
            },
          },
        } as never,
      },
      () => undefined,
    ),
    route.post(
      '/fails',
      { policy: 'authenticated', rateLimit: { limit: 1000, windowMs: 1000 }, idempotent: false },
      () => {
        throw new ApiError('LIMIT_REACHED', 'No more', { details: { thing: 'Is enough' } });
      },
    ),
    route.delete('/:id/parts/:part', { policy: 'none' }, () => 'never'),
    route.get(
      '/former',
      { policy: 'public', errors: [], deprecated: { since: '2026-11-01', use: 'GET /api/things' } },
      () => 'old',
    ),
    route.get('/secret-door', { policy: 'public', hidden: true }, () => 'hidden'),
    route.post('/tree', { policy: 'public', input: tree, output: tree, errors: [] }, ({ input }) => input),
  ],
});

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree).max(3);
  },
});

const note = defineResource('note', {
  path: '/deep/notes',
  timestamps: false,
  crud: ['list', 'read', 'create', 'update', 'delete'],
  fields: {
    text: f.string().required().max(100).sortable(),
    about: f.ref('thing').required(),
    vault: f.ref('vault'),
    count: f.integer().filterable(),
    keeper: f.id().readOnly(),
  },
  owner: 'keeper',
  indexes: [{ fields: ['text', 'about'], unique: true }],
  policies: {
    list: 'owner | admin',
    read: 'owner | admin',
    create: 'owner',
    update: ({ user }) => user !== undefined,
    delete: 'none',
  },
  scope: ({ user }) => (user?.name === 'Bob' ? { text: { ne: 'unseen' } } : undefined),
  hooks: {
    beforeCreate(values) {
      if (values.text === 'refused') throw new ApiError('LIMIT_REACHED', 'Not this');
    },
  },
});

/** Has no routes, but other resources refer to it. */
const vault = defineResource('vault', {
  crud: false,
  fields: { label: f.string(), latch: f.string().hidden() },
  policies: { read: 'authenticated' },
});

/** Its name is also the name of another resource's create schema. */
const thingCreate = defineResource('thing-create', {
  fields: { note: f.string() },
  crud: ['list'],
  policies: { list: 'public' },
});

const probe = defineExtension({
  name: 'probe',
  setup: () => ({
    routes: [
      { method: 'GET', path: '/probe', handler: () => ({ anything: true }) },
      {
        method: 'POST',
        path: '/probe/run',
        scope: 'probe:run',
        tags: ['probe'],
        summary: 'Run the probe',
        status: 202,
        output: z.object({ ok: z.boolean() }),
        errors: [],
        handler: () => ({ ok: true }),
      },
    ],
  }),
});

/** The parts of the app. */
export const everyApp = {
  resources: [
    defineUser({ fields: { phone: f.string().max(20) }, roles: ['editor'] }),
    thing,
    note,
    vault,
    thingCreate,
    binned,
  ],
  extensions: [
    webhooks({ timeoutMs: 50 }),
    apiKeys(),
    twoFactor(),
    passkeys({ secondFactor: true }),
    softDelete(),
    audit(),
    privacy(),
    probe,
  ],
} as const;
