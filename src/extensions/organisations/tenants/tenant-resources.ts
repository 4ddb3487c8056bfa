import { replacePolicy } from '../../../declare/policy.ts';
import {
  ACTIONS,
  type AnyResource,
  ConfigErrors,
  compilePolicy,
  Field,
  type FieldSpec,
  type Fields,
  type Policy,
  type RecordFilter,
  type Route,
  type RouteBuilder,
  type ScopeArguments,
} from '../../../extension/index.ts';
import { intersectFilters } from '../membership/access.ts';
import { createRolePolicy, splitPolicy, withRoleRules } from '../membership/role-policies.ts';
import { createOrganisationChooser, createTenantHooks, type TenantContext } from './tenant-hooks.ts';

function withRolePolicies(
  policy: Policy,
  field: string,
  { roles, settings }: TenantContext,
  errors: ConfigErrors,
): Policy {
  const split = splitPolicy(policy, roles, errors);
  if (split.roles.length === 0) return policy;
  // Every member has the least powerful role, and the scope lets only members through: no look-up is needed.
  const isScopeEnough = settings.globalPolicy.roles.length === 0;
  const allowed = split.roles.map((role) =>
    role === roles.least && isScopeEnough ? 'authenticated' : createRolePolicy(role, field, roles),
  );
  return replacePolicy(policy, [...split.rest, ...allowed]);
}

/** Whether a declaration names an owner of its records. */
function hasOwner({ owner, fields }: AnyResource): boolean {
  return owner !== undefined || Object.values(fields as Fields).some((one) => one instanceof Field && one.spec.owner);
}

/** The policies with roles replaced by filters. Records without an owner may be changed by every member unless the declaration says otherwise. */
function tenantPolicies(
  resource: AnyResource,
  field: string,
  context: TenantContext,
  errors: ConfigErrors,
): AnyResource['policies'] {
  const { roles } = context;
  const changes = ACTIONS.filter((action) => action !== 'list' && action !== 'read');
  const defaults = hasOwner(resource)
    ? {}
    : Object.fromEntries(changes.map((action) => [action, `org:${roles.least}`]));
  const declared = Object.entries({ ...defaults, ...resource.policies }) as [string, Policy | undefined][];
  return Object.fromEntries(
    declared.map(([action, policy]) => {
      if (policy === undefined) return [action, policy];
      const at = errors.at(`policies.${action}`);
      if (action !== 'create') return [action, withRolePolicies(policy, field, context, at)];
      // No record exists yet: the hook checks the role in the organisation that the record will belong to.
      const { roles: named, rest } = splitPolicy(policy, roles, at);
      return [action, named.length === 0 ? policy : replacePolicy(policy, [...rest, 'authenticated'])];
    }),
  );
}

/** Unique fields are unique within an organisation: other organisations must not be able to find out that a value is taken. */
function tenantIndexes(
  resource: AnyResource,
  field: string,
  { settings }: TenantContext,
): Pick<AnyResource, 'fields' | 'indexes'> {
  const fields = resource.fields as Fields;
  const choose = createOrganisationChooser(field, settings);
  const chooseTenant: FieldSpec['chooseTenant'] = async (...given) => (await choose(...given)).organisation;
  const isUnique = ([name, one]: [string, Fields[string]]) => one instanceof Field && one.spec.unique && name !== field;
  const unique = Object.entries(fields).filter(isUnique);
  const declared = (resource.indexes ?? []).map((index) =>
    index.unique && !index.fields.includes(field) ? { ...index, fields: [field, ...index.fields] } : index,
  );
  return {
    fields: {
      ...fields,
      [field]: new Field({ ...fields[field]!.spec, chooseTenant }),
      ...Object.fromEntries(unique.map(([name, { spec }]) => [name, new Field({ ...spec, unique: false })])),
    },
    indexes: [...declared, ...unique.map(([name]) => ({ fields: [field, name], unique: true }))],
  };
}

/** Constraints between records compare those of one organisation, as unique fields do. */
function tenantConstraints({ constraints }: AnyResource, field: string): AnyResource['constraints'] {
  if (typeof constraints !== 'function') return constraints;
  return (builder) =>
    constraints(builder).map((one) => {
      if (one.kind === 'exclude' && !one.terms.includes(field)) return { ...one, terms: [field, ...one.terms] };
      if (one.kind === 'unique' && !one.fields.includes(field)) return { ...one, fields: [field, ...one.fields] };
      return one;
    });
}

/** The scope of the declaration, limited to the organisations of the viewer. */
function tenantScope({ scope: own }: AnyResource, field: string, { scope }: TenantContext): AnyResource['scope'] {
  return (args: ScopeArguments) => {
    const { user, req, service } = args;
    const filter = scope.filterFor(user, field, { current: true });
    // In this order: if the scope threw after the check began, nobody would handle a rejection of the check.
    const given = own?.(args);
    const checked = scope.checkNamed(user, req, service);
    if (checked === undefined && !(given instanceof Promise)) return intersectFilters(given as RecordFilter, filter);
    return Promise.all([given, checked]).then(([filterOfProject]) => intersectFilters(filterOfProject, filter));
  };
}

/** The custom routes of the declaration, with roles in their policies replaced by filters. */
function tenantRoutes(
  { routes }: AnyResource,
  field: string,
  context: TenantContext,
  errors: ConfigErrors,
): AnyResource['routes'] {
  if (typeof routes !== 'function') return routes;
  const convertRoute = (route: Route): Route => {
    if (route.policy === undefined) return route;
    const at = errors.at(`${route.method} ${route.path}: policy`);
    const isItem = route.resource !== undefined;
    if (splitPolicy(route.policy, context.roles, at).roles.length > 0 && !isItem)
      at.report('a role in an organisation needs a record; write a route with /:id, or check the role in the handler');
    return { ...route, policy: withRolePolicies(route.policy, field, context, new ConfigErrors()) };
  };
  return (route: RouteBuilder) => routes(route).map(convertRoute);
}

/** Returns the declaration of a resource with `tenant()` with everything that keeps its records inside their organisations. */
export function declareTenantResource(
  declared: AnyResource,
  context: TenantContext,
  errors: ConfigErrors,
): AnyResource {
  const { tenantFields, roles } = context;
  const field = tenantFields.get(declared.name)!;
  const resource = { ...declared, fields: withRoleRules(declared.fields as Fields, field, roles, errors) };
  const policy = resource.policies?.create ?? (hasOwner(resource) ? 'owner' : `org:${roles.least}`);
  // `tenantPolicies` reports the errors.
  const create = splitPolicy(policy, roles, new ConfigErrors());
  const creators = create.roles.flatMap((role) => roles.including(role));
  const others = compilePolicy(create.rest.length === 0 ? 'none' : create.rest, () => undefined);
  return {
    ...resource,
    ...tenantIndexes(resource, field, context),
    constraints: tenantConstraints(resource, field),
    policies: tenantPolicies(resource, field, context, errors),
    scope: tenantScope(resource, field, context),
    routes: tenantRoutes(resource, field, context, errors),
    hooks: createTenantHooks(
      resource,
      field,
      { creators: create.roles.length === 0 ? undefined : creators, others },
      context,
    ),
  };
}
