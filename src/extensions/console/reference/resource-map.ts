import { declaredPolicy, textOfPolicyFunction } from '../../../declare/policy.ts';
import {
  ACTIONS,
  type Action,
  type AnyResource,
  compilePolicy,
  type ExtensionHost,
  type FieldSpec,
  type Fields,
  type OnDelete,
  type Policy,
  pluralName,
  type Route,
  VERIFIED,
} from '../../../extension/index.ts';
import { declaredUserRoles } from '../../../records/configuration/roles.ts';
import { declaredOrDefaultPolicy } from '../../../records/schema/compile.ts';
import { findTarget, listFields } from '../data/field-info.ts';

/** The viewers that a policy allows. Alternatives: a viewer needs to meet only one of them. */
interface AccessRule {
  /** The policy as written. Functions appear as `function` or as their own text. */
  text: string;
  /** Which viewers are allowed whatever the record. `verified`: users with a proved e-mail address. */
  allows: ('public' | 'authenticated' | 'verified')[];
  /** Whether owners are allowed on their own records. */
  owner: boolean;
  roles: readonly string[];
  /** The roles in the organisation of the record that are allowed. */
  organisationRoles: readonly string[];
  /** Whether a function of the app also decides. */
  hasFunction: boolean;
}

/** A reference from one resource to another. */
interface MappedReference {
  field: string;
  target: string;
  /** Whether the field holds a list of references. */
  many: boolean;
  required: boolean;
  /** What happens to the referring record when the target is deleted. */
  onDelete: OnDelete;
}

/** A resource on the map, with what the description of the app for the Data tab does not contain. */
interface MappedResource {
  name: string;
  references: MappedReference[];
  indexes: { fields: readonly string[]; unique: boolean }[];
  hooks: string[];
  /** The names of the events that are sent to webhook endpoints. */
  events: string[];
  /** The rules of the CRUD routes that exist. */
  access: Partial<Record<Action, AccessRule>>;
  /** The rule for records that are expanded in other records. */
  reference: AccessRule;
  /** The other routes of the resource. `path` is below `/api`. */
  routes: { method: string; path: string; access: AccessRule }[];
}

/** The map of an app. */
export interface ResourceMap {
  /** The roles that users can have. */
  roles: readonly string[];
  resources: MappedResource[];
}

/** A role in the organisation of a record, as policies and their texts name it. */
const ORGANISATION_ROLE = /^org:(.+)$/;
const WORDS = ['public', 'authenticated', VERIFIED] as const;

/**
 * Describes a policy in a form that does not depend on how it is written.
 *
 * @param declared the roles of the app. `verified` is one of them in apps that do not verify e-mail addresses
 */
function describeAccess(policy: Policy, declared: readonly string[]): AccessRule {
  const compiled = compilePolicy(declaredPolicy(policy), () => undefined);
  const tokens = compiled.text.split('|').map((token) => token.trim());
  const isRole = declared.includes(VERIFIED);
  return {
    text: compiled.text,
    allows: WORDS.filter((word) => compiled[word] && !(word === VERIFIED && isRole)),
    owner: compiled.owner,
    roles: compiled.roles.filter((role) => role !== VERIFIED || isRole),
    organisationRoles: tokens.flatMap((token) => ORGANISATION_ROLE.exec(token)?.[1] ?? []),
    hasFunction: compiled.functions.some((rule) => !ORGANISATION_ROLE.test(textOfPolicyFunction(rule))),
  };
}

function referencesOf({ fields }: AnyResource): MappedReference[] {
  return listFields(fields as Fields).flatMap(([field, spec]: [string, FieldSpec]) => {
    const target = findTarget(spec);
    if (target === undefined) return [];
    const many = spec.inner !== undefined;
    const onDelete = spec.onDelete ?? spec.inner?.spec.onDelete ?? (many ? 'remove' : 'keep');
    return [{ field, target, many, required: spec.required === true, onDelete }];
  });
}

function crudAccessOf(declaration: AnyResource, roles: readonly string[]): MappedResource['access'] {
  const { crud = true } = declaration;
  const actions = crud === true ? ACTIONS : crud === false ? [] : crud;
  return Object.fromEntries(
    actions.map((action) => [action, describeAccess(declaredOrDefaultPolicy(declaration, action), roles)]),
  );
}

function indexesOf({ indexes = [], fields }: AnyResource): MappedResource['indexes'] {
  const single = listFields(fields as Fields).flatMap(([name, { unique, index }]) =>
    unique || index ? [{ fields: [name], unique: unique === true }] : [],
  );
  return [...single, ...indexes.map((one) => ({ fields: one.fields, unique: one.unique === true }))];
}

/** The routes of a resource besides CRUD, as they are mounted. A batch is left out: the rules of its operations decide. */
function otherRoutesOf(
  name: string,
  base: string,
  routes: readonly Route[],
  roles: readonly string[],
): MappedResource['routes'] {
  const isBelow = (path: string) => path === base || path.startsWith(`${base}/`);
  return routes
    .filter((route) => route.crud === undefined && !route.hidden && route.performs === undefined)
    .filter((route) => route.resource === name || (route.resource === undefined && isBelow(route.path)))
    .map(({ method, path, policy = 'authenticated' }) => ({ method, path, access: describeAccess(policy, roles) }));
}

/** Describes the resources of an app, their references, and which viewers may do what. */
export function describeMap({
  resources,
  routes,
  openApiDocument,
}: Pick<ExtensionHost, 'resources' | 'routes' | 'openApiDocument'>): ResourceMap {
  const declarations = resources.map(({ declaration }) => declaration);
  const sent = Object.keys(openApiDocument().webhooks ?? {});
  const all = routes();
  const roles = declaredUserRoles(declarations) ?? [];
  return {
    roles,
    resources: resources.map(({ name, declaration }) => ({
      name,
      references: referencesOf(declaration),
      indexes: indexesOf(declaration),
      hooks: Object.keys(declaration.hooks ?? {}),
      events: sent.filter((event) => event.startsWith(`${name}.`)),
      access: crudAccessOf(declaration, roles),
      reference: describeAccess(declaration.policies?.reference ?? declaredOrDefaultPolicy(declaration, 'read'), roles),
      routes: otherRoutesOf(name, declaration.path ?? `/${pluralName(name)}`, all, roles),
    })),
  };
}
