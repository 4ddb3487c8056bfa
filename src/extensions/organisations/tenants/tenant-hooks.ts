import type { TenantCaller } from '../../../declare/field.ts';
import {
  type AnyResource,
  ApiError,
  allowsAction,
  type CompiledPolicy,
  type ErrorDetails,
  type Field,
  type Fields,
  getOrganisationRole,
  type HookContext,
  type Hooks,
  type Services,
  type Viewer,
  validationError,
} from '../../../extension/index.ts';
import { missingReferenceMessage } from '../../../records/schema/references.ts';
import {
  getOrganisationChoice,
  noOrganisationError,
  type OrganisationScope,
  organisationFilter,
} from '../membership/access.ts';
import { MEMBERSHIP, ORGANISATION } from '../membership/resources.ts';
import { hasGlobalAccess, type OrganisationRoles, type OrganisationSettings } from '../membership/settings.ts';
import type { TenantFields } from './tenant.ts';

type Values = Record<string, unknown>;

/** What the resources of organisations have in common. */
export interface TenantContext {
  tenantFields: TenantFields;
  settings: OrganisationSettings;
  roles: OrganisationRoles;
  scope: OrganisationScope;
}

/** Which members may create a record. */
interface Creators {
  /** The roles that may; undefined if the policy names none. */
  creators: readonly string[] | undefined;
  /** The rest of the policy. */
  others: CompiledPolicy;
}

/** Maximum ids in one look-up of references: the largest page of a list. */
const MAX_IDS = 1000;

/** A reference to records that belong to organisations. */
interface TenantReference {
  name: string;
  target: string;
  /** The field of the target that holds its organisation. */
  targetField: string;
  isArray: boolean;
}

function tenantReferencesOf({ fields }: AnyResource, tenantFields: TenantFields): TenantReference[] {
  return Object.entries(fields as Fields).flatMap(([name, field]) => {
    const spec = (field as Field<unknown> | undefined)?.spec;
    const target = spec?.target ?? spec?.inner?.spec.target;
    const targetField = target === MEMBERSHIP ? 'organisation' : tenantFields.get(target ?? '');
    if (target === undefined || targetField === undefined || spec?.tenant) return [];
    return [{ name, target, targetField, isArray: spec?.inner !== undefined }];
  });
}

const idsIn = (value: unknown): string[] => (Array.isArray(value) ? value : [value]).filter((id) => id !== null);

/** Returns those of the ids whose records belong to the organisation. */
async function findIdsInOrganisation(
  ids: readonly string[],
  { target, targetField }: TenantReference,
  organisation: unknown,
  service: Services,
): Promise<Set<string>> {
  const found = new Set<string>();
  const query = { [targetField]: organisation, limit: MAX_IDS, count: 'none' };
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const id = { in: ids.slice(from, from + MAX_IDS) };
    const { data } = await service(target).list({ ...query, id }, { as: 'system' });
    for (const record of data) found.add(String(record.id));
  }
  return found;
}

/**
 * Checks that references lead to records of the same organisation. References that the record held before are not checked: their records may
 * have been deleted.
 *
 * @throws ApiError VALIDATION_ERROR, the same for a record of another organisation and for one that does not exist
 */
async function assertReferencesInside(
  references: readonly TenantReference[],
  { values, before, organisation }: { values: Values; before: Values; organisation: unknown },
  service: Services,
): Promise<void> {
  const details: ErrorDetails = {};
  const sent = references.filter(({ name }) => values[name] !== undefined && values[name] !== null);
  for (const [, same] of Map.groupBy(sent, ({ target }) => target)) {
    const isNew = ({ name }: TenantReference, id: string) => !idsIn(before[name] ?? []).includes(id);
    const ids = same.flatMap((one) => idsIn(values[one.name]).filter((id) => isNew(one, id)));
    const inside = await findIdsInOrganisation([...new Set(ids)], same[0]!, organisation, service);
    for (const one of same) {
      for (const [i, id] of idsIn(values[one.name]).entries())
        if (isNew(one, id) && !inside.has(id))
          details[one.isArray ? `${one.name}.${i}` : one.name] = missingReferenceMessage(one);
    }
  }
  if (Object.keys(details).length > 0) throw validationError(details);
}

const noMemberError = (field: string) =>
  validationError({ [field]: missingReferenceMessage({ target: ORGANISATION }) });

/** The organisation of a new record, and the role of the caller in it; the role is undefined for the system and for callers with global access. */
interface ChosenOrganisation {
  organisation: string;
  role?: string;
}

/** The organisation that the body, the credential and the request name, for a caller who need not be a member of it. */
async function chooseNamed(user: Viewer, given: unknown, field: string, service: Services): Promise<string> {
  const choice = getOrganisationChoice(user);
  const filter = organisationFilter([given as string | undefined, choice?.bound, choice?.current], undefined);
  if (filter !== undefined && Object.keys(filter).length === 0) throw validationError({ [field]: 'Is required' });
  const found = filter && (await service(ORGANISATION).first(filter, { as: 'system' }));
  if (found === undefined) throw given === undefined ? noOrganisationError() : noMemberError(field);
  return found.id;
}

/**
 * Finds the organisation that a new record of a user belongs to. The body, the credential (`bound`) and the request (`current`) may name one;
 * all that do must name the same. If none does, it is the user's only organisation.
 */
async function chooseForMember(
  user: Viewer,
  given: unknown,
  field: string,
  service: Services,
): Promise<ChosenOrganisation> {
  const choice = getOrganisationChoice(user);
  const filter = organisationFilter([given as string | undefined, choice?.bound, choice?.current], 'organisation');
  // The memberships of a deleted organisation are still being deleted.
  const query = { 'organisation.slug': { exists: true }, ...filter, user: user.id, limit: 2, count: 'none' };
  const data = filter === undefined ? [] : (await service(MEMBERSHIP).list(query, { as: 'system' })).data;
  const [first, second] = data as unknown as { organisation: string; role: string }[];
  if (first === undefined) {
    if (given !== undefined) throw noMemberError(field);
    if (choice?.bound !== undefined || choice?.current !== undefined) throw noOrganisationError();
    throw validationError({ [field]: 'You are not a member of an organisation' });
  }
  if (second !== undefined) {
    const message =
      'Is required, because you are a member of several organisations; send it, or the header X-Organisation';
    throw validationError({ [field]: message });
  }
  return first;
}

/** Creates the function that finds the organisation of a new record, given the one in its input. */
export function createOrganisationChooser(
  field: string,
  settings: OrganisationSettings,
): (given: unknown, caller: TenantCaller) => Promise<ChosenOrganisation> {
  return async (given, { user, as, service }) => {
    if (as === 'system' && given !== undefined) return { organisation: given as string };
    if (user === undefined)
      throw as === 'user' ? new ApiError('UNAUTHORIZED') : validationError({ [field]: 'Is required' });
    const role = getOrganisationRole(user);
    // A deploy may have removed the role.
    if (role !== undefined && !settings.roles.includes(role)) throw noOrganisationError();
    if (role !== undefined) return { organisation: await chooseNamed(user, given, field, service), role };
    if (hasGlobalAccess(settings, user)) return { organisation: await chooseNamed(user, given, field, service) };
    return chooseForMember(user, given, field, service);
  };
}

/** Creates the hooks that set the organisation of a new record and keep references inside it. They also run the hooks of the declaration. */
export function createTenantHooks(
  resource: AnyResource,
  field: string,
  { creators, others }: Creators,
  { tenantFields, settings }: TenantContext,
): Hooks<Fields> {
  const own = (resource.hooks ?? {}) as Record<string, ((...given: unknown[]) => unknown) | undefined>;
  const references = tenantReferencesOf(resource, tenantFields);

  const choose = createOrganisationChooser(field, settings);

  async function assertMayCreate({ role }: ChosenOrganisation, { user, req, service, as }: HookContext): Promise<void> {
    if (as === 'system' || creators === undefined || (role !== undefined && creators.includes(role))) return;
    if (await allowsAction(others, { user, action: 'create', doc: undefined, req, service }, true)) return;
    throw new ApiError('FORBIDDEN');
  }

  async function beforeCreate(given: Values, ctx: HookContext): Promise<unknown> {
    const chosen = await choose(given[field], ctx);
    await assertMayCreate(chosen, ctx);
    const { organisation } = chosen;
    const values: Values = { ...given, [field]: organisation };
    const returned = await own.beforeCreate?.(values, ctx);
    if (returned === false) return false;
    const final = typeof returned === 'object' && returned !== null ? (returned as Values) : values;
    await assertReferencesInside(references, { values: final, before: {}, organisation: final[field] }, ctx.service);
    return final;
  }

  async function beforeUpdate(changes: Values, record: Values, ctx: HookContext): Promise<unknown> {
    const returned = await own.beforeUpdate?.(changes, record, ctx);
    if (returned === false) return false;
    const final = typeof returned === 'object' && returned !== null ? (returned as Values) : changes;
    const organisation = record[field] ?? undefined;
    // Not an error of the hook alone: the response may name the field.
    if (organisation !== undefined && final[field] !== undefined && final[field] !== organisation)
      throw validationError({ [field]: 'Cannot be changed after creation' });
    await assertReferencesInside(
      references,
      { values: final, before: record, organisation: organisation ?? final[field] },
      ctx.service,
    );
    return final;
  }

  return {
    ...resource.hooks,
    beforeCreate,
    // Without it, an update need not load the record first.
    ...(references.length > 0 || own.beforeUpdate !== undefined ? { beforeUpdate } : {}),
  } as Hooks<Fields>;
}
