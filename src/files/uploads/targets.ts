import { ORGANISATION_CHOICE } from '../../declare/actor.ts';
import { allowsEveryRecord, type CompiledPolicy } from '../../declare/policy.ts';
import type { AuthorizationRequest } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { requiresUser } from '../../records/access/authorize.ts';
import { createPolicyArguments } from '../../records/access/operation-context.ts';
import { type FileRules, findFileRules } from '../../records/fields/types/file.ts';
import type { CompiledField, CompiledResource } from '../../records/schema/compiled.ts';
import { isOfOrganisations } from '../../records/schema/organisation-resources.ts';
import { allowsAction } from '../../rules/allows-action.ts';

/** A field that an upload is for. */
export interface UploadTarget {
  resource: CompiledResource;
  field: CompiledField;
  rules: FileRules;
}

/** The request of a caller who uploads. */
type UploadRequest = Pick<AuthorizationRequest, 'user' | 'req' | 'service'>;

/** Whether a policy may allow this caller for some record: one that the caller owns, or one on which a function decides. */
async function mayAllow(
  policy: CompiledPolicy,
  action: string,
  { user, req, service }: UploadRequest,
): Promise<boolean> {
  if (requiresUser(policy) && user === undefined) return false;
  // Without the record, a function cannot decide about an update.
  if (action === 'update' && policy.functions.length > 0) return true;
  const args = createPolicyArguments({ user, req, service }, action, undefined);
  return allowsAction(policy, args, user !== undefined, () => undefined);
}

/** Whether a caller may set the field of some record. */
function maySet({ writableBy, spec }: CompiledField, { user }: UploadRequest): boolean {
  if (spec.hidden || spec.readOnly) return false;
  if (writableBy === undefined || allowsEveryRecord(writableBy, user)) return true;
  return (writableBy.owner && user !== undefined) || writableBy.functions.length > 0;
}

/** Creates the lookup of the fields that accept uploads. */
export function createTargets(resources: readonly CompiledResource[]) {
  const targets = new Map<string, UploadTarget>();
  for (const resource of resources) {
    for (const field of resource.fields) {
      const rules = findFileRules(field.spec);
      if (rules === undefined) continue;
      for (const name of [resource.name, resource.path])
        targets.set(`${name}.${field.name}`, { resource, field, rules });
    }
  }

  const ofOrganisations = new Set(resources.filter(isOfOrganisations).map(({ name }) => name));
  const isReachable = (resource: string | null, user: UploadRequest['user']) =>
    user?.[ORGANISATION_CHOICE]?.bound === undefined || ofOrganisations.has(resource ?? '');

  return {
    /** Whether the credential of a caller reaches a resource: the API key of an organisation reaches only its records. */
    isReachable,

    /** The fields of a resource, by name. */
    ofResource: (resource: string) =>
      new Map(
        [...targets.values()].filter((one) => one.resource.name === resource).map((one) => [one.field.name, one]),
      ),

    /** The maximum bytes of the field that accepts the largest files. */
    largestFile: Math.max(0, ...[...targets.values()].map(({ rules }) => rules.maxBytes)),

    /** Returns a field by its name: `<resource>.<field>`. */
    find: (name: string) => targets.get(name),

    /**
     * Returns the field that an upload is for.
     *
     * @param name `<resource>.<field>`, or `<path>.<field>` with the path of the resource: `/tickets.attachment`
     * @throws ApiError BAD_REQUEST for an unknown field; UNAUTHORIZED or FORBIDDEN if the caller may not set it in any record
     */
    async authorize(name: unknown, request: UploadRequest): Promise<UploadTarget> {
      const target = typeof name === 'string' ? targets.get(name) : undefined;
      if (target === undefined)
        throw new ApiError('BAD_REQUEST', 'field must name a field that holds files, such as field=ticket.attachment');
      if (!isReachable(target.resource.name, request.user)) throw new ApiError('FORBIDDEN');
      const { policies } = target.resource;
      const isAllowed =
        maySet(target.field, request) &&
        ((await mayAllow(policies.create, 'create', request)) || (await mayAllow(policies.update, 'update', request)));
      if (!isAllowed) throw new ApiError(request.user === undefined ? 'UNAUTHORIZED' : 'FORBIDDEN');
      return target;
    },
  };
}

/** The lookup of the fields that accept uploads. */
export type Targets = ReturnType<typeof createTargets>;
