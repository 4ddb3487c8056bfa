import {
  type ConfigErrors,
  defineResource,
  Field,
  type Fields,
  f,
  type PolicyFunction,
  type Resource,
  validationError,
} from '../../../extension/index.ts';
import type { OrganisationScope } from './access.ts';
import { createRolePolicy, withRoleRules } from './role-policies.ts';
import { hasGlobalAccess, type OrganisationRoles, type OrganisationSettings } from './settings.ts';
import { createSlugRule, MAX_SLUG, MIN_SLUG, SLUG_PATTERN, slugOfName } from './slug.ts';

/** The names of the resources that the extension adds. */
export const ORGANISATION = 'organisation';
export const MEMBERSHIP = 'membership';
/** The resources as clients see them. `F`: the further fields of organisations; `Role`: the roles of members. */
export type OrganisationResources<F extends Fields, Role extends string> =
  | WithFields<ReturnType<typeof declareOrganisation>, F>
  | ReturnType<typeof declareMembership<Role>>;

type WithFields<X, F extends Fields> =
  X extends Resource<infer N, infer Own, infer T, infer Facts> ? Resource<N, Own & F, T, Facts> : never;

/** The fields that every organisation has. */
export const ORGANISATION_FIELDS = ['name', 'slug', 'settings'];

/** Declares the resource `organisation`. */
export function declareOrganisation(
  settings: OrganisationSettings,
  roles: OrganisationRoles,
  scope: OrganisationScope,
  errors: ConfigErrors,
) {
  const reachesAll: PolicyFunction = ({ user }) => hasGlobalAccess(settings, user);
  return defineResource(ORGANISATION, {
    description: 'A group of users who share records',
    icon: 'building',
    fields: {
      name: f.string().required().max(100).searchable().sortable().filterable(),
      slug: f
        .string()
        .lowercase()
        .min(MIN_SLUG)
        .max(MAX_SLUG)
        .pattern(SLUG_PATTERN, 'Must consist of lower-case letters a to z, digits and single hyphens')
        .unique()
        .filterable()
        .check(createSlugRule(settings.reservedSlugs)),
      settings: f.json(),
      ...(withRoleRules(settings.fields, undefined, roles, errors) as Record<never, never>),
    },
    relations: { members: f.reverse(MEMBERSHIP, 'organisation') },
    policies: {
      list: 'authenticated',
      read: 'authenticated',
      create: settings.createPolicy,
      update: [createRolePolicy(roles.managing.at(-1)!, undefined, roles), reachesAll],
      delete: [createRolePolicy(roles.owner, undefined, roles), reachesAll],
    },
    scope: ({ user }) => scope.filterFor(user, undefined, { current: false }),
    hooks: {
      beforeCreate: (values) => ({ ...values, slug: values.slug ?? slugOfName(String(values.name)) }),
      beforeUpdate: (changes) => {
        // An organisation keeps a slug: links and headers name it.
        if (changes.slug === null) throw validationError({ slug: 'Is required' });
        return changes;
      },
    },
    crud: ['list', 'read', 'update'],
    ...(settings.audit ? { audit: true } : {}),
  });
}

/** Declares the resource `membership`: which users are members of which organisations. Only the routes of the extension change it. */
export function declareMembership<Role extends string>(
  settings: OrganisationSettings,
  { all }: OrganisationRoles,
  scope: OrganisationScope,
) {
  const { spec } = f.ref(ORGANISATION).required().immutable().filterable();
  return defineResource(MEMBERSHIP, {
    description: 'A user in an organisation',
    icon: 'card',
    fields: {
      organisation: new Field<
        string,
        'required',
        string,
        string,
        'immutable',
        'filterable' | `to:${typeof ORGANISATION}`
      >({ ...spec, tenant: true }),
      // As its owner, the user finds the membership in their data export, and an erasure removes it.
      user: f.ref('user').owner().filterable().populate(),
      role: f
        .enum(all as unknown as readonly [Role, ...Role[]])
        .required()
        .filterable(),
    },
    indexes: [{ fields: ['organisation', 'user'], unique: true }],
    policies: { list: 'authenticated', read: 'authenticated', create: 'none', update: 'none', delete: 'none' },
    scope: ({ user, req, service }) => {
      const filter = scope.filterFor(user, 'organisation', { current: true });
      return scope.checkNamed(user, req, service)?.then(() => filter) ?? filter;
    },
    crud: ['list', 'read'],
    ...(settings.audit ? { audit: true } : {}),
  });
}
