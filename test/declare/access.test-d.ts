// Checked only by the compiler (`npm run check`): every line after @ts-expect-error must be an error.
import { createApp, defineResource, defineUser, f, type Viewer } from '../../src/index.ts';

/** Whether two types are identical, rather than just assignable. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
/** Fails to compile unless every type is `true`. */
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
      // @ts-expect-error an update cannot change passwords
      changes.secret;
      // @ts-expect-error the resource has no timestamps
      record.createdAt;
      return all;
    },
    afterUpdate(record, previous) {
      // @ts-expect-error the resource has no timestamps
      return previous.updatedAt ?? record.title;
    },
  },
  routes: (route) => [
    // @ts-expect-error the resource has no timestamps
    route.get('/:id/age', ({ doc }) => doc.createdAt),
  ],
});

const app = createApp({ resources: [defineUser({ roles: ['editor'] }), doc] }, {});

export async function calls(user: Viewer | undefined) {
  const docs = app.service('doc');
  const rest = { title: 'x', number: '1', slug: 'x', secret: 'correct horse' };
  const made = await docs.create({ ...rest, hash: 'x', state: 'closed', writer: 'x' });
  // @ts-expect-error the resource has no timestamps
  made.createdAt;
  await docs.update(made.id, { number: '2', state: 'open', hash: 'y', slug: 'y', writer: 'y' });
  await docs.update(made.id, { state: 'open' }, { ifMatch: 'x' });
  // @ts-expect-error an update cannot change passwords
  await docs.update(made.id, { secret: 'another horse' });

  await docs.create({ title: 'x', number: '1', secret: 'correct horse' }, { user });
  await docs.update(made.id, { title: 'y', at: null }, { user });
  // @ts-expect-error the title is required
  await docs.create({ number: '1', secret: 'correct horse' }, { user });
  // @ts-expect-error a user cannot set a read-only field
  await docs.create({ ...rest, state: 'closed' }, { user });
  // @ts-expect-error a user cannot set a hidden field
  await docs.update(made.id, { hash: 'x' }, { user });
  // @ts-expect-error a user cannot set a read-only field
  await docs.update(made.id, { state: 'closed' }, { user });
  // @ts-expect-error a user cannot change an immutable field
  await docs.update(made.id, { number: '3' }, { user });
  // @ts-expect-error a user cannot transfer a record to another owner
  await docs.update(made.id, { writer: 'y' }, { user });

  app.on('doc.updated', ({ previous }) => {
    previous.state satisfies 'open' | 'closed';
    // @ts-expect-error the resource has no timestamps
    previous.createdAt;
  });
}

/** The role names that the user resource declares, and the two built-in ones. */
export async function roles() {
  const users = app.service('user');
  const { roles } = await users.read('x');
  const same: Same<typeof roles, ('user' | 'admin' | 'editor')[]> = true;
  await users.update('x', { roles: ['editor', 'admin'] });
  // @ts-expect-error not a role
  await users.update('x', { roles: ['edtior'] });
  // @ts-expect-error a user cannot change their e-mail address
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

/** If the `timestamps` option is not a literal, records may have timestamps. */
export const perhaps = (timestamps: boolean) =>
  defineResource('perhaps', {
    timestamps,
    fields: { a: f.string() },
    hooks: { afterCreate: (record) => record.createdAt satisfies string | undefined },
  });
