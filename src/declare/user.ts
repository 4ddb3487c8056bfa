import { f } from './f.ts';
import type { Fields } from './field.ts';
import { defineResource, type Resource, type ResourceOptions } from './resource.ts';

function template<const R extends readonly string[]>(roles: R) {
  return {
    name: f.string().required().max(100).searchable().sortable(),
    email: f.email().required().unique().immutable().filterable().visibleTo('owner | admin'),
    password: f.password().required(),
    roles: f
      .array(f.enum(roles as unknown as readonly [string, ...string[]]))
      .default(['user'])
      .writableBy('admin')
      .visibleTo('owner | admin')
      .filterable(),
    status: f.enum(['active', 'disabled']).default('active').writableBy('admin').filterable(),
    avatarUrl: f.url(),
  };
}

/** The fields of the account template. */
export type UserFields = ReturnType<typeof template>;

/** Options of `defineUser`: those of a resource, further fields, further roles. */
export type UserOptions<F extends Fields> = Partial<Omit<ResourceOptions<F & UserFields>, 'fields'>> & {
  /** Further fields; a field of the template's name replaces it. */
  fields?: F;
  /** The role words. Default `user` and `admin`. */
  roles?: readonly string[];
};

/** Declares the user resource from the account template. */
// biome-ignore lint/complexity/noBannedTypes: {} is "no further fields" here
export function defineUser<F extends Fields = {}>(options: UserOptions<F> = {}): Resource<'user', UserFields & F> {
  const { fields, roles = ['user', 'admin'], policies, ...rest } = options;
  return defineResource('user', {
    description: 'An account',
    owner: '_id',
    ...(rest as object),
    fields: { ...template([...new Set(['user', 'admin', ...roles])]), ...fields } as UserFields & F,
    policies: {
      list: 'admin',
      read: 'owner | admin',
      create: 'admin',
      update: 'owner | admin',
      delete: 'admin',
      reference: 'public',
      ...policies,
    },
  });
}
