// What callers and viewers may do: policies, viewers, credentials and their scopes.
export type { OrganisationChoice, ReadLimit, Viewer } from '../declare/actor.ts';
export {
  createOrganisationViewer,
  getOrganisationRole,
  isAccountActive,
  isEmailVerified,
  ORGANISATION_CHOICE,
  viewerThroughRelation,
  withOrganisationChoice,
  withoutOrganisationChoice,
  withReadLimit,
} from '../declare/actor.ts';
export type { Authenticator } from '../declare/authenticator.ts';
export type { ViewContext } from '../declare/host.ts';
export { newCredentialCode } from '../declare/new-credential.ts';
export type { OrganisationAccess, OrganisationMember } from '../declare/organisation-access.ts';
export type { CompiledPolicy, Policy, PolicyArguments, PolicyFunction, RecordFilter } from '../declare/policy.ts';
export { allowsEveryRecord, allowsNobody, compilePolicy, VERIFIED } from '../declare/policy.ts';
export type { Auth, AuthorizationRequest } from '../declare/route.ts';
export {
  acceptedScopes,
  acceptsOnlySessions,
  isScope,
  SCOPE_FORMAT,
  scopeNameOfPath,
  scopePrefixOf,
} from '../declare/scope.ts';
export type { FindUnreachableOrganisations } from '../records/access/reachable-organisations.ts';
export {
  createUnreachableOrganisationSearch,
  findOrganisationField,
  findOrganisations,
} from '../records/access/reachable-organisations.ts';
export { currentActor } from '../rules/acting.ts';
export { allowsAction } from '../rules/allows-action.ts';
export { getAuth, getCredentialWatch } from '../rules/credential.ts';
export { createReadLimits, createReadScopeCheck } from '../rules/credential-scopes.ts';
