import { Field, type Fields } from '../declare/field.ts';
import type { RecordOf } from '../declare/infer.ts';
import {
  type ClientFacts,
  defineResource,
  type FactOptions,
  type FactsOf,
  type Resource,
  type ResourceOptions,
} from '../declare/resource.ts';
import type { RouteBuilder } from '../declare/route.ts';
import { f } from '../records/fields/f.ts';
import { isPersonalField } from '../records/fields/personal-data.ts';

function createTemplateFields<Role extends string>(roles: readonly Role[]) {
  return {
    name: f.string().required().max(100).searchable().sortable(),
    email: f.email().required().unique().immutable().filterable().visibleTo('owner | admin'),
    password: f.password().required(),
    roles: f
      .array(f.enum(roles as unknown as readonly [Role, ...Role[]]))
      .default(['user' as Role])
      .writableBy('admin')
      .visibleTo('owner | admin')
      .filterable(),
    status: f.enum(['active', 'disabled']).default('active').writableBy('admin').filterable(),
    avatarUrl: f.url(),
  };
}

/** Fields of the template that every viewer of a user record sees, unless their declaration has a `visibleTo()`. */
const PUBLIC: ReadonlySet<string> = new Set(['name', 'avatarUrl']);

/**
 * Returns the fields with the visibility of the account template: `status` and personal fields are visible to the user and to admins,
 * unless their declaration says otherwise. Needed because user records are expanded in other records, for viewers who cannot read them. The
 * field `locale`, in which e-mails are written, tells where a person comes from, so it is personal.
 *
 * @param listed names of the fields in the resource option `personalFields`
 */
function restrictStatusAndPersonalFields(fields: Fields, listed: readonly string[]): Fields {
  const roles: unknown = fields.roles?.spec?.inner?.spec?.values;
  const policy = Array.isArray(roles) && !roles.includes('admin') ? 'owner' : 'owner | admin';
  const entries = Object.entries(fields).map(([name, declared]) => {
    const field = name === 'locale' && declared instanceof Field ? declared.pii() : declared;
    const isRestricted =
      field instanceof Field &&
      !('visibleTo' in field.spec || field.spec.hidden || field.spec.writeOnly || PUBLIC.has(name)) &&
      (name === 'status' || listed.includes(name) || isPersonalField(name, field.spec));
    return [name, isRestricted ? field.visibleTo(policy) : field] as const;
  });
  return Object.fromEntries(entries);
}

/** The fields of the account template. */
export type UserFields<Role extends string = 'user' | 'admin'> = ReturnType<typeof createTemplateFields<Role>>;

/** The fields of the template combined with further fields. A further field replaces the template's field of the same name. */
type WithUserFields<F extends Fields, Role extends string> = F & Omit<UserFields<Role>, keyof F>;

/** Options of `defineUser`: the options of a resource, further fields, and further roles. */
export type UserOptions<F extends Fields, Role extends string, T extends boolean> = Partial<
  Omit<ResourceOptions<WithUserFields<F, Role>, T>, 'fields'>
> & {
  /** Further fields. A field with the name of a template field replaces it. */
  fields?: F;
  /** Names of further roles, in addition to `user` and `admin`. */
  roles?: readonly Role[];
};

// biome-ignore lint/suspicious/noExplicitAny: stands for a user resource of any fields
type AnyUser = Resource<'user', any, any, any>;

/**
 * Declares the user resource from the account template. Its `status` and personal fields are visible only to the user and to admins,
 * unless they have a `visibleTo()` of their own.
 */
export function defineUser<
  // biome-ignore lint/complexity/noBannedTypes: {} is "no further fields" here
  F extends Fields = {},
  const Role extends string = never,
  T extends boolean = true,
  const Path extends string = string,
  const Crud extends ClientFacts['crud'] = boolean,
  const Batch extends ClientFacts['batch'] = boolean,
  const Soft extends boolean = boolean,
  const Aggregates extends ClientFacts['aggregates'] = ClientFacts['aggregates'],
  const Relations extends ClientFacts['relations'] = ClientFacts['relations'],
  const Routes extends ClientFacts['routes'] = ClientFacts['routes'],
>(
  options: UserOptions<F, Role | 'user' | 'admin', T> &
    FactOptions<
      RouteBuilder<RecordOf<WithUserFields<F, Role | 'user' | 'admin'>, T>>,
      Path,
      Crud,
      Batch,
      Soft,
      Aggregates,
      Relations,
      Routes
    > = {},
): Resource<
  'user',
  WithUserFields<NoInfer<F>, NoInfer<Role> | 'user' | 'admin'>,
  NoInfer<T>,
  FactsOf<
    NoInfer<Path>,
    NoInfer<Crud>,
    NoInfer<Batch>,
    NoInfer<Soft>,
    NoInfer<Aggregates>,
    NoInfer<Relations>,
    NoInfer<Routes>
  >
> {
  const { fields, roles = [], policies, ...rest } = options;
  const declared = { ...createTemplateFields([...new Set(['user', 'admin', ...roles])]), ...fields };
  const listed: unknown = rest.personalFields;
  const all = restrictStatusAndPersonalFields(declared, Array.isArray(listed) ? listed : []);
  const user: AnyUser = defineResource('user', {
    description: 'An account',
    icon: 'users',
    owner: '_id',
    ...(rest as { timestamps?: NoInfer<T> }),
    fields: all as WithUserFields<NoInfer<F>, NoInfer<Role> | 'user' | 'admin'>,
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
  return user;
}
