// Checked by the compiler alone (`npm run check`): every line after @ts-expect-error must be an error.
import { createApp, defineResource, defineUser, f, type Viewer } from '../../src/index.ts';

/** Whether two types are the same, and not only fit. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
/** Fails to compile unless every one is true. */
type All<T extends true[]> = T;

const doc = defineResource('doc', {
  timestamps: false,
  fields: {
    title: f.string().required(),
    number: f.string().required().immutable(),
    state: f.enum(['open', 'closed']).default('open').readOnly(),
    slug: f.string().required().readOnly(),
    hash: f.string().hidden(),
    secret: f.password().required(),
    at: f.date(),
    writer: f.ref('user').owner(),
  },
  hooks: {
    beforeCreate(values) {
      type V = typeof values;
      const all: All<
        [
          Same<V['title'], string>,
          Same<V['number'], string>,
          Same<V['state'], 'open' | 'closed'>,
          Same<V['slug'], string | undefined>,
          Same<V['hash'], string | undefined>,
          Same<V['secret'], string>,
          Same<V['at'], string | undefined>,
          Same<V['writer'], string | undefined>,
        ]
      > = [true, true, true, true, true, true, true, true];
      values.slug = values.title.toLowerCase();
      return all;
    },
    beforeUpdate(changes, record) {
      type C = typeof changes;
      const all: All<
        [
          Same<C['title'], string | undefined>,
          Same<C['at'], string | null | undefined>,
          Same<C['hash'], string | null | undefined>,
          Same<(typeof record)['state'], 'open' | 'closed'>,
        ]
      > = [true, true, true, true];
      // @ts-expect-error passwords are not changed by an update
      changes.secret;
      // @ts-expect-error it has no timestamps
      record.createdAt;
      return all;
    },
    afterUpdate(record, previous) {
      // @ts-expect-error it has no timestamps
      return previous.updatedAt ?? record.title;
    },
  },
  routes: (route) => [
    // @ts-expect-error it has no timestamps
    route.get('/:id/age', ({ doc }) => doc.createdAt),
  ],
});

const app = createApp({ resources: [defineUser({ roles: ['editor'] }), doc] }, {});

export async function calls(user: Viewer | undefined) {
  const docs = app.service('doc');
  const rest = { title: 'x', number: '1', slug: 'x', secret: 'correct horse' };
  const made = await docs.create({ ...rest, hash: 'x', state: 'closed', writer: 'x' });
  // @ts-expect-error it has no timestamps
  made.createdAt;
  await docs.update(made.id, { number: '2', state: 'open', hash: 'y', slug: 'y', writer: 'y' });
  await docs.update(made.id, { state: 'open' }, { ifMatch: 'x' });
  // @ts-expect-error passwords are not changed by an update
  await docs.update(made.id, { secret: 'another horse' });

  await docs.create({ title: 'x', number: '1', secret: 'correct horse' }, { user });
  await docs.update(made.id, { title: 'y', at: null }, { user });
  // @ts-expect-error the title is required
  await docs.create({ number: '1', secret: 'correct horse' }, { user });
  // @ts-expect-error a user cannot set what is read-only
  await docs.create({ ...rest, state: 'closed' }, { user });
  // @ts-expect-error a user cannot set what is hidden
  await docs.update(made.id, { hash: 'x' }, { user });
  // @ts-expect-error a user cannot set what is read-only
  await docs.update(made.id, { state: 'closed' }, { user });
  // @ts-expect-error a user cannot change what is immutable
  await docs.update(made.id, { number: '3' }, { user });
  // @ts-expect-error nobody gives a record to somebody else
  await docs.update(made.id, { writer: 'y' }, { user });

  app.on('doc.updated', ({ previous }) => {
    previous.state satisfies 'open' | 'closed';
    // @ts-expect-error it has no timestamps
    previous.createdAt;
  });
}

/** The words of roles that the user resource declares, beside the two that there are always. */
export async function roles() {
  const users = app.service('user');
  const { roles } = await users.read('x');
  const same: Same<typeof roles, ('user' | 'admin' | 'editor')[]> = true;
  await users.update('x', { roles: ['editor', 'admin'] });
  // @ts-expect-error not a role
  await users.update('x', { roles: ['edtior'] });
  // @ts-expect-error an e-mail address stays, for its user
  await users.update('x', { email: 'a@b.co' }, { user: undefined as Viewer | undefined });
  const plain = createApp({ resources: [defineUser()] }, {}).service('user');
  // @ts-expect-error not a role
  await plain.update('x', { roles: ['editor'] });
  const own = createApp({ resources: [defineUser({ fields: { name: f.text(), roles: f.array(f.string()) } })] }, {});
  const user = await own.service('user').read('x');
  const replaced: [Same<typeof user.name, string | undefined>, Same<typeof user.roles, string[] | undefined>] = [
    true,
    true,
  ];
  return [same, replaced];
}

/** Where code decides whether there are timestamps, records may have them. */
export const perhaps = (timestamps: boolean) =>
  defineResource('perhaps', {
    timestamps,
    fields: { a: f.string() },
    hooks: { afterCreate: (record) => record.createdAt satisfies string | undefined },
  });
