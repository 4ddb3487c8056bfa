// Checked by the compiler alone (`npm run check`): every line after @ts-expect-error must be an error.
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import {
  apiKeys,
  type CreateInput,
  createApp,
  defineExtension,
  defineResource,
  defineUser,
  f,
  type UpdateInput,
} from '../../src/index.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required(),
    status: f.enum(['draft', 'published']).default('draft'),
    score: f.integer(),
    tags: f.array(f.string()),
    place: f.object({ city: f.string().required(), zip: f.string() }),
    author: f.ref('user').owner(),
  },
  hooks: {
    beforeCreate(values) {
      values.title satisfies string;
      // @ts-expect-error a hook knows the fields
      values.nope;
    },
    beforeUpdate(changes, record) {
      record.title satisfies string;
      changes.title satisfies string | undefined;
    },
  },
  routes: (route) => [
    // @ts-expect-error an option that a route does not have
    route.get('/a', { polizy: 'public' }, () => 1),
    route.post('/:id/publish', { input: z.object({ at: z.coerce.date() }) }, ({ doc, input }) => {
      input.at satisfies Date;
      doc.title satisfies string;
      // @ts-expect-error a record knows its fields
      doc.nope;
      // @ts-expect-error an input knows its fields
      input.nope;
    }),
    route.get('/since', { query: z.object({ days: z.coerce.number() }) }, ({ query, input }) => {
      query.days satisfies number;
      // @ts-expect-error without a schema a body may be anything
      input.nope;
      // @ts-expect-error a query knows its parameters
      query.nope;
    }),
    route.put(
      '/both',
      { query: z.object({ a: z.string() }), input: z.object({ b: z.string() }) },
      ({ query, input }) => {
        `${query.a}${input.b}` satisfies string;
        // @ts-expect-error a parameter is not in the body
        input.a;
      },
    ),
    // @ts-expect-error a query is a Standard Schema
    route.get('/shape', { query: { a: 'string' } }, () => 1),
    route.get('/newest', ({ doc, input, query }) => {
      query.a satisfies string | string[] | undefined;
      doc satisfies undefined;
      input satisfies unknown;
    }),
  ],
});

const app = createApp({ resources: [defineUser({ fields: { phone: f.string() } }), post] }, {});
const posts = app.service('post');

app.on('post.created', ({ record, user }) => {
  record.title satisfies string;
  user?.id satisfies string | undefined;
  // @ts-expect-error the record of an event knows its fields
  record.nope;
});
app.on('post.updated', ({ previous }) => previous.status satisfies 'draft' | 'published');
app.on('auth.login', ({ ip }) => ip);
// @ts-expect-error there is no such event of a resource
app.on('post.craeted', ({ record }) => record);

export async function calls() {
  const made = await posts.create({ title: 'x' });
  made.id satisfies string;
  made.createdAt satisfies string;
  made.title satisfies string;
  made.status satisfies 'draft' | 'published';
  made.score satisfies number | undefined;
  made.tags satisfies string[] | undefined;
  made.place?.city satisfies string | undefined;
  await posts.create({ title: 'x', status: 'published', place: { city: 'Bern' } });
  await posts.update(made.id, { score: null, status: 'draft' });
  (await posts.list({ limit: 5 })).data[0]!.title satisfies string;
  (await posts.list()).meta.total satisfies number;
  (await posts.list({ limit: 5 })).meta.next satisfies string | undefined;
  (await posts.list({ count: 'none' })).meta satisfies { limit: number; next: string | null };
  (await posts.list({ after: 'cursor' })).meta.next satisfies string | null;
  (await app.service('user').read('x')).phone satisfies string | undefined;

  await posts.list({ score: { gte: 3, lt: 5 }, status: ['draft', 'published'], author: null, createdAt: new Date() });
  await posts.list({ limit: undefined, sort: undefined, 'score[gte]': 3 });
  (await posts.first({ status: 'draft', sort: '-score' }))?.title satisfies string | undefined;
  (await posts.count({ status: 'draft' })) satisfies number;
  const somebody: { id?: string } = {};
  // @ts-expect-error a filter that is undefined would be none
  await posts.list({ author: somebody.id });
  // @ts-expect-error a filter that is undefined would be none
  await posts.list({ author: undefined });
  // @ts-expect-error there is no such operator
  await posts.list({ score: { like: 3 } });
  // @ts-expect-error there is no such word
  await posts.list({ limit: true });
  // @ts-expect-error nothing is counted behind a cursor
  (await posts.list({ after: 'cursor' })).meta.total;
  // @ts-expect-error the end of a list is no cursor
  await posts.list({ after: null });
  // @ts-expect-error the title is required
  await posts.create({});
  // @ts-expect-error an unknown field
  await posts.create({ title: 'x', nope: 1 });
  // @ts-expect-error not one of the values
  await posts.create({ title: 'x', status: 'lost' });
  // @ts-expect-error a title is a string
  await posts.create({ title: 1 });
  // @ts-expect-error the city is required in a place
  await posts.create({ title: 'x', place: {} });
  // @ts-expect-error a required field cannot be cleared
  await posts.update(made.id, { title: null });
  // @ts-expect-error an unknown field
  await posts.update(made.id, { nope: 1 });
  // @ts-expect-error there is no such field
  made.nope;
  // @ts-expect-error there is no such resource
  app.service('nope');
  // @ts-expect-error there is no such setting
  createApp({ resources: [], settings: { auht: {} } }, {});
  // @ts-expect-error there is no such option
  defineResource('a', { fields: {}, polizies: {} });
  // @ts-expect-error there is no such action
  defineResource('a', { fields: {}, policies: { lsit: 'public' } });
  // @ts-expect-error there is no such operator
  f.string().filterable(['like']);
  // @ts-expect-error a default has the type of the field
  f.integer().default('1');
}

/** Whether two types are the same, and not only fit. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;

const kinds = defineResource('kind', {
  fields: {
    string: f.string(),
    text: f.text().required(),
    email: f.email().required('Say it'),
    url: f.url().default('https://a.co'),
    password: f.password().required(),
    number: f.number().default(() => 1),
    integer: f.integer().required().default(1),
    boolean: f.boolean().default(true).required(),
    date: f.date().required(),
    enum: f.enum(['a', 'b']).required(),
    id: f.id(),
    ref: f.ref('kind').required().optional(),
    owner: f.ref('user').owner(),
    json: f.json().required(),
    dates: f.array(f.date()).required(),
    grid: f.array(f.array(f.integer())),
    enums: f.array(f.enum(['x', 'y'])).default(['x']),
    object: f
      .object({
        needed: f.string().required(),
        loose: f.boolean(),
        preset: f.integer().default(0),
        deep: f.object({ list: f.array(f.object({ at: f.date().required() })) }),
      })
      .required(),
    trimmed: f.string().trim().lowercase().max(3).pattern(/x/).unique().filterable(['eq']).immutable(),
    counted: f.string().schema(z.string().transform((text) => text.length)),
    form: f
      .json()
      .schema(z.object({ a: z.number(), b: z.string().default('x') }))
      .required(),
    valibot: f.json().schema(v.object({ a: v.pipe(v.string(), v.transform(Number)) })),
    arktype: f.json().schema(type({ 'a?': 'string' })),
    sizes: f.array(f.string().schema(z.string().transform((text) => text.length))).required(),
    inside: f
      .object({
        size: f
          .string()
          .schema(z.string().transform((text) => text.length))
          .required(),
      })
      .required(),
  },
});

const kind = createApp({ resources: [kinds] }, {}).service('kind');
type Made = Awaited<ReturnType<typeof kind.create>>;
type Input = CreateInput<typeof kinds.fields>;
type Change = UpdateInput<typeof kinds.fields>;

/** Fails to compile unless every one is true. */
type All<T extends true[]> = T;

/** What records hold. */
export type Held = All<
  [
    Same<Made['string'], string | undefined>,
    Same<Made['text'], string>,
    Same<Made['email'], string>,
    Same<Made['url'], string>,
    Same<Made['password'], undefined>,
    Same<Made['number'], number>,
    Same<Made['integer'], number>,
    Same<Made['boolean'], boolean>,
    Same<Made['date'], string>,
    Same<Made['enum'], 'a' | 'b'>,
    Same<Made['id'], string>,
    Same<Made['ref'], string | undefined>,
    Same<Made['owner'], string>,
    Same<Made['json'], unknown>,
    Same<Made['dates'], string[]>,
    Same<Made['grid'], number[][] | undefined>,
    Same<Made['enums'], ('x' | 'y')[]>,
    Same<Made['object']['needed'], string>,
    Same<Made['object']['loose'], boolean | undefined>,
    Same<Made['object']['preset'], number>,
    Same<NonNullable<NonNullable<Made['object']['deep']>['list']>[number]['at'], string>,
    Same<Made['trimmed'], string | undefined>,
    Same<Made['counted'], number | undefined>,
    Same<Made['form'], { a: number; b: string }>,
    Same<NonNullable<Made['valibot']>['a'], number>,
    Same<NonNullable<Made['arktype']>['a'], string | undefined>,
    Same<Made['sizes'], number[]>,
    Same<Made['inside']['size'], number>,
  ]
>;

/** What create and update take. */
export type Taken = All<
  [
    Same<Input['text'], string>,
    Same<Input['password'], string>,
    Same<Input['url'], string | undefined>,
    Same<Input['integer'], number | undefined>,
    Same<Input['boolean'], boolean | undefined>,
    Same<Input['date'], string | number | Date>,
    Same<Input['dates'], (string | number | Date)[]>,
    Same<Input['owner'], string | null | undefined>,
    Same<Input['object']['preset'], number | undefined>,
    Same<Input['counted'], string | undefined>,
    Same<Input['form'], { a: number; b?: string | undefined }>,
    Same<NonNullable<Input['valibot']>['a'], string>,
    Same<Input['sizes'], string[]>,
    Same<Input['inside']['size'], string>,
    Same<Change['text'], string | undefined>,
    Same<Change['string'], string | null | undefined>,
    Same<Change['counted'], string | null | undefined>,
  ]
>;

export const modifiers = [
  // @ts-expect-error the value of a number's default
  f.number().default('1'),
  // @ts-expect-error a default by a function has the type of the field, too
  f.number().default(() => '1'),
  // @ts-expect-error one of the values
  f.enum(['a', 'b']).default('c'),
  // @ts-expect-error an enum has values
  f.enum([]),
  // @ts-expect-error items are fields
  f.array('string'),
  // @ts-expect-error members are fields
  f.object({ a: 'string' }),
  // @ts-expect-error an example has the type of the field
  f.integer().example('x'),
  // @ts-expect-error a pattern is a regular expression
  f.string().pattern('x'),
  // @ts-expect-error a schema is a Standard Schema
  f.string().schema({}),
  // @ts-expect-error a policy is not a number
  f.string().visibleTo(1),
  f.date().check((at) => at.startsWith('2026')),
  f.array(f.integer()).check((list, record) => list.length > 0 || `too few in ${record.id}`),
  f
    .string()
    .schema(z.string().transform(Number))
    .check((text) => text !== 'x'),
  f.array(f.string().schema(z.string().transform(Number))).check((sizes) => sizes[0]! > 1),
  f.string().check(async (text) => text === 'x'),
];

export async function wrong() {
  const rest = {
    text: 'x',
    email: 'a@b.co',
    password: 'correct horse',
    date: 0,
    enum: 'a',
    json: 1,
    dates: ['2026-01-01', 0],
    object: { needed: 'x' },
    form: { a: 1 },
    sizes: ['x'],
    inside: { size: 'x' },
  } as const;
  await kind.create({ ...rest, dates: [...rest.dates], sizes: ['x'] });
  const input = { ...rest, dates: [...rest.dates], sizes: ['x'] };
  // @ts-expect-error the member of an object is required
  await kind.create({ ...input, object: {} });
  // @ts-expect-error an unknown member of an object
  await kind.create({ ...input, object: { needed: 'x', nope: 1 } });
  // @ts-expect-error an item of the wrong type
  await kind.create({ ...input, grid: [['x']] });
  // @ts-expect-error not one of the values
  await kind.create({ ...input, enums: ['z'] });
  // @ts-expect-error what a schema takes
  await kind.create({ ...input, form: { a: 'x' } });
  // @ts-expect-error what a schema takes, not what it makes
  await kind.create({ ...input, counted: 5 });
  // @ts-expect-error a required field cannot be cleared
  await kind.update('x', { text: null });
  // @ts-expect-error a boolean is no text
  await kind.update('x', { boolean: 'true' });
}

/** What an extension offers to code stands on the app, under the extension's name. */
export async function apis(env: Record<string, string>) {
  const silent = defineExtension({ name: 'silent', setup: () => ({}) });
  const loud = defineExtension({ name: 'loud', setup: () => ({ api: { shout: (text: string) => text.length } }) });
  const app = createApp({ resources: [defineUser()], extensions: [apiKeys(), silent, loud] }, env);
  const revoked: boolean = await app.apiKeys.revoke('x');
  const length: number = app.loud.shout('x');
  // @ts-expect-error it offers nothing
  void app.silent;
  // @ts-expect-error it is not installed
  void createApp({ resources: [] }, env).apiKeys;
  return [revoked, length];
}
