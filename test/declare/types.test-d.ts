// Checked only by the compiler (`npm run check`): every line after @ts-expect-error must be an error.
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

defineResource('thing', {
  // @ts-expect-error the field does not exist
  title: 'nam',
  fields: { name: f.string() },
});
defineResource('thing', {
  // @ts-expect-error no field in braces exists
  title: 'No. {nam}',
  fields: { name: f.string() },
});

const post = defineResource('post', {
  title: '{title} ({status})',
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
      // @ts-expect-error the field does not exist in the hook
      values.nope;
    },
    beforeUpdate(changes, record) {
      record.title satisfies string;
      changes.title satisfies string | undefined;
    },
  },
  routes: (route) => [
    // @ts-expect-error the route option does not exist
    route.get('/a', { polizy: 'public' }, () => 1),
    route.post('/:id/publish', { input: z.object({ at: z.coerce.date() }) }, ({ doc, input }) => {
      input.at satisfies Date;
      doc.title satisfies string;
      // @ts-expect-error the field does not exist on the record
      doc.nope;
      // @ts-expect-error the field does not exist in the input
      input.nope;
    }),
    route.get('/since', { query: z.object({ days: z.coerce.number() }) }, ({ query, input }) => {
      query.days satisfies number;
      // @ts-expect-error without a schema the type of the body is unknown
      input.nope;
      // @ts-expect-error the parameter does not exist in the query
      query.nope;
    }),
    route.put(
      '/both',
      { query: z.object({ a: z.string() }), input: z.object({ b: z.string() }) },
      ({ query, input }) => {
        `${query.a}${input.b}` satisfies string;
        // @ts-expect-error parameters are not part of the body
        input.a;
      },
    ),
    // @ts-expect-error a query must be a Standard Schema
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
  // @ts-expect-error the field does not exist on the event's record
  record.nope;
});
app.on('post.updated', ({ previous }) => previous.status satisfies 'draft' | 'published');
app.on('auth.login', ({ ip }) => ip);
// @ts-expect-error the resource has no such event
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
  // @ts-expect-error an undefined filter would match every record
  await posts.list({ author: somebody.id });
  // @ts-expect-error an undefined filter would match every record
  await posts.list({ author: undefined });
  // @ts-expect-error the operator does not exist
  await posts.list({ score: { like: 3 } });
  // @ts-expect-error the option does not exist
  await posts.list({ limit: true });
  // @ts-expect-error nothing is counted after a cursor
  (await posts.list({ after: 'cursor' })).meta.total;
  // @ts-expect-error null, the end of a list, is not a cursor
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
  // @ts-expect-error the field does not exist
  made.nope;
  // @ts-expect-error the resource does not exist
  app.service('nope');
  // @ts-expect-error the setting does not exist
  createApp({ resources: [], settings: { auht: {} } }, {});
  // @ts-expect-error the option does not exist
  defineResource('a', { fields: {}, polizies: {} });
  // @ts-expect-error the action does not exist
  defineResource('a', { fields: {}, policies: { lsit: 'public' } });
  // @ts-expect-error the operator does not exist
  f.string().filterable(['like']);
  // @ts-expect-error a default must have the type of the field
  f.integer().default('1');
}

/** Whether two types are identical, rather than just assignable. */
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

/** Fails to compile unless every type is `true`. */
type All<T extends true[]> = T;

/** Types of records. */
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

/** Types of the values that create and update accept. */
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
  // @ts-expect-error a number's default must be a number
  f.number().default('1'),
  // @ts-expect-error a default function must return the type of the field
  f.number().default(() => '1'),
  // @ts-expect-error must be one of the values
  f.enum(['a', 'b']).default('c'),
  // @ts-expect-error an enum must have values
  f.enum([]),
  // @ts-expect-error items must be fields
  f.array('string'),
  // @ts-expect-error members must be fields
  f.object({ a: 'string' }),
  // @ts-expect-error an example must have the type of the field
  f.integer().example('x'),
  // @ts-expect-error a pattern must be a regular expression
  f.string().pattern('x'),
  // @ts-expect-error a schema must be a Standard Schema
  f.string().schema({}),
  // @ts-expect-error a policy cannot be a number
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
  // @ts-expect-error must match the input type of the schema
  await kind.create({ ...input, form: { a: 'x' } });
  // @ts-expect-error must match the input type of the schema, not its output type
  await kind.create({ ...input, counted: 5 });
  // @ts-expect-error a required field cannot be cleared
  await kind.update('x', { text: null });
  // @ts-expect-error a boolean is not a string
  await kind.update('x', { boolean: 'true' });
}

/** The API of an extension is available on the app under the extension's name. */
export async function apis(env: Record<string, string>) {
  const silent = defineExtension({ name: 'silent', setup: () => ({}) });
  const loud = defineExtension({ name: 'loud', setup: () => ({ api: { shout: (text: string) => text.length } }) });
  const app = createApp({ resources: [defineUser()], extensions: [apiKeys(), silent, loud] }, env);
  const revoked: boolean = await app.apiKeys.revoke('x');
  const length: number = app.loud.shout('x');
  // @ts-expect-error the extension provides no API
  void app.silent;
  // @ts-expect-error the extension is not installed
  void createApp({ resources: [] }, env).apiKeys;
  return [revoked, length];
}
