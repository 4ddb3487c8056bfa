import {
  type AnyResource,
  type ConfigErrors,
  createInvitationComposer,
  createRetentionSweep,
  defineExtension,
  type Extension,
  type Fields,
  INVITATION_RETENTION,
  StartupError,
  snakeCase,
} from '../../extension/index.ts';
import { createMembershipPanel } from './account-panel.ts';
import { createOrganisationsApi, type OrganisationsApi } from './api.ts';
import { createDeletionJob, createDeletionSweep, DELETION_JOB } from './deletion.ts';
import { createDepartureStep, createLastOwnerCheck, organisationUserData } from './departures.ts';
import { createOrganisationInvitations } from './invitations/invite.ts';
import { organisationInvitationRoutes } from './invitations/routes.ts';
import { createNamedOrganisations, createOrganisationScope, type NamedOrganisations } from './membership/access.ts';
import { createOrganisationAccess, type Membership, type OrganisationContext } from './membership/context.ts';
import {
  declareMembership,
  declareOrganisation,
  MEMBERSHIP,
  ORGANISATION,
  ORGANISATION_FIELDS,
  type OrganisationResources,
} from './membership/resources.ts';
import {
  createRoles,
  type OrganisationOptions,
  type OrganisationSettings,
  organisationSettings,
} from './membership/settings.ts';
import { organisationRoutes } from './routes.ts';
import { organisationDeletions, organisationInvitations } from './tables.ts';
import { findTenantFields, repeatedTenantFields } from './tenants/tenant.ts';
import { declareTenantResource } from './tenants/tenant-resources.ts';

export type { OrganisationsApi } from './api.ts';
export type { OrganisationOptions } from './membership/settings.ts';
export { tenant } from './tenants/tenant.ts';

const NEEDS_ACCOUNTS = 'it needs accounts; declare a user resource with defineUser()';

/** Returns the resources of the app with organisations, memberships, and resources with `tenant()` kept inside their organisations. */
function declareResources(
  declared: readonly AnyResource[],
  errors: ConfigErrors,
  settings: OrganisationSettings,
  named: NamedOrganisations,
): readonly AnyResource[] {
  const taken = declared.filter(({ name }) => name === ORGANISATION || name === MEMBERSHIP);
  for (const { name } of taken)
    errors
      .at(`resource "${name}"`)
      .report('organisations() adds a resource of this name; rename yours, or use its fields setting');
  const replaced = ORGANISATION_FIELDS.filter((name) => Object.hasOwn(settings.fields, name));
  for (const name of replaced)
    errors.at('organisations.fields').report(`every organisation has the field "${name}"; rename yours`);
  for (const resource of declared) {
    const names = repeatedTenantFields(resource);
    if (names.length > 0)
      errors.at(`resource "${resource.name}"`).report(`several fields are tenant(): ${names.join(', ')}; keep one`);
  }
  const roles = createRoles(settings);
  const scope = createOrganisationScope(settings, roles, named);
  const tenantFields = findTenantFields(declared);
  const context = { tenantFields, settings, roles, scope };
  const changed = declared.map((resource) =>
    tenantFields.has(resource.name)
      ? declareTenantResource(resource, context, errors.at(`resource "${resource.name}"`))
      : resource,
  );
  const hasUsers = declared.some(({ name }) => name === 'user');
  if (!hasUsers) errors.at('extension "organisations"').report(NEEDS_ACCOUNTS);
  if (taken.length > 0 || !hasUsers) return changed;
  return [
    ...changed,
    declareOrganisation(settings, roles, scope, errors.at('organisations.fields')),
    declareMembership(settings, roles, scope),
  ];
}

/**
 * Organisations with members, roles and invitations. Resources with the field `tenant()` belong to organisations: members see only the records of
 * their organisations, on every channel.
 *
 * @example
 * const ticket = defineResource('ticket', { fields: { organisation: tenant(), title: f.string().required() }, policies: { delete: 'org:admin' } });
 * createApp({ resources: [defineUser(), ticket], extensions: [organisations()] }, process.env)
 */
export function organisations<
  const Role extends string = 'owner' | 'admin' | 'member',
  F extends Fields = Record<never, never>,
>(
  options: Omit<OrganisationOptions, 'roles' | 'fields'> & { roles?: readonly Role[]; fields?: F } = {},
): Extension<'organisations', OrganisationsApi, { resource: OrganisationResources<NoInfer<F>, NoInfer<Role>> }> {
  const named = createNamedOrganisations();
  return defineExtension({
    name: 'organisations',
    tables: { organisation_invitations: organisationInvitations, organisation_deletions: organisationDeletions },
    settings: organisationSettings,
    options: options as OrganisationOptions,
    resources: (declared, errors, settings) => declareResources(declared, errors, settings, named),
    setup(host, settings) {
      const { accounts, users, database, resources } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('organisations() cannot work:', [NEEDS_ACCOUNTS]);
      }
      const find = (name: string) => resources.find((one) => one.name === name)!;
      const context: OrganisationContext = {
        host,
        accounts,
        users,
        organisations: find(ORGANISATION),
        memberships: find(MEMBERSHIP),
        settings,
        roles: createRoles(settings),
      };
      const { api, operations } = createOrganisationsApi(context);
      const invitations = createOrganisationInvitations(context);
      const assertNotLastOwner = createLastOwnerCheck(context);
      const tenantFields = findTenantFields(
        resources.map(({ declaration }) => declaration).filter(({ name }) => name !== MEMBERSHIP),
      );
      return {
        api,
        organisationAccess: createOrganisationAccess(context),
        routes: [
          ...organisationInvitationRoutes({ ...context, invitations }, operations.members),
          ...organisationRoutes(context, operations),
        ],
        mails: { [invitations.mail]: createInvitationComposer(invitations) },
        jobs: { [DELETION_JOB]: createDeletionJob(context, tenantFields, snakeCase) },
        sweeps: [
          createRetentionSweep(database, {
            name: 'old invitations to organisations',
            removals: [{ table: organisationInvitations, keep: INVITATION_RETENTION }],
          }),
          createDeletionSweep(context),
        ],
        // Other processes find out within a minute.
        listeners: {
          [`${MEMBERSHIP}.deleted`]: ({ record }: { record: Membership }) => named.forget(record.user),
          [`${ORGANISATION}.deleted`]: () => named.forget(),
        },
        administratorPolicies: [settings.globalPolicy],
        revocationStep: createDepartureStep({ ...context, invitations }, assertNotLastOwner),
        userData: [organisationUserData(context, assertNotLastOwner)],
        accountPanels: [createMembershipPanel(context)],
      };
    },
  }) as Extension<'organisations', OrganisationsApi, never>;
}
