import { z } from 'zod';
import {
  ApiError,
  type AuthorizationRequest,
  countParameter,
  isId,
  type Route,
  type RouteContext,
  recordShape,
  requiredTextSchema,
  withMeta,
} from '../../extension/index.ts';
import type { createDeleteOrganisation } from './deletion.ts';
import { getOrganisationChoice, noOrganisationError, organisationFilter } from './membership/access.ts';
import {
  type Access,
  findRole,
  loadAccess,
  type MemberTransaction,
  type OrganisationContext,
} from './membership/context.ts';
import type { Members } from './membership/members.ts';
import { MEMBERSHIP, ORGANISATION } from './membership/resources.ts';
import type { OrganisationRoles } from './membership/settings.ts';

const roleText = requiredTextSchema(100);

const createMemberListQuery = ({ all }: Pick<OrganisationRoles, 'all'>) =>
  z.strictObject({
    role: z.enum(all, { error: `Must be one of: ${all.join(', ')}` }).optional(),
    page: countParameter(100_000, 1),
    limit: countParameter(100, 20),
  });

const roleInput = z.strictObject({ role: roleText });

const chooseInput = z.strictObject({
  organisation: z
    .string({ error: 'Must be the id or slug of an organisation, or null' })
    .max(100, { error: 'Must be at most 100 characters' })
    .nullable()
    .meta({ description: 'The id or slug of an organisation of which you are a member; null for none' }),
});

const chosenShape = z
  .object({ organisation: z.string().nullable(), role: z.string().nullable() })
  .meta({ id: 'CurrentOrganisation' });

/** The operations behind the routes. */
export interface OrganisationOperations {
  members: Members;
  create(input: unknown, ctx: Pick<RouteContext, 'user' | 'req'>, tx: MemberTransaction): Promise<unknown>;
  remove: ReturnType<typeof createDeleteOrganisation>;
}

const tags = ['organisations'];
const createLoad = (context: OrganisationContext) => (request: AuthorizationRequest) => loadAccess(context, request);
const changeBy = (ctx: RouteContext<unknown, Access>) => ({ organisation: ctx.doc.organisation, by: ctx.user });

/** The routes that change the members of an organisation. */
function changeMemberRoutes(context: OrganisationContext, members: Members): Route[] {
  const { host } = context;
  const load = createLoad(context);

  async function leave(ctx: RouteContext<unknown, Access>): Promise<void> {
    const { organisation } = ctx.doc;
    const own = await host.service(MEMBERSHIP).first({ organisation, user: ctx.user!.id }, { as: 'system' });
    if (own === undefined) throw noOrganisationError();
    await host.transaction((tx) => members.remove(own.id, changeBy(ctx), tx));
  }

  return [
    {
      method: 'PATCH',
      path: '/organisations/:id/members/:membershipId',
      load,
      input: roleInput,
      output: recordShape(MEMBERSHIP),
      errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
      operationId: 'changeOrganisationRole',
      organisationKeys: true,
      tags,
      summary: 'Change the role of a member',
      handler: (ctx: RouteContext<z.output<typeof roleInput>, Access>) =>
        host.transaction((tx) => members.changeRole(ctx.params.membershipId!, ctx.input.role, changeBy(ctx), tx)),
    },
    {
      method: 'DELETE',
      path: '/organisations/:id/members/:membershipId',
      load,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
      status: 204,
      operationId: 'removeOrganisationMember',
      organisationKeys: true,
      tags,
      summary: 'Remove a member',
      async handler(ctx: RouteContext<unknown, Access>) {
        const id = ctx.params.membershipId;
        if (!isId(id)) throw new ApiError('NOT_FOUND');
        await host.transaction((tx) => members.remove(id, changeBy(ctx), tx));
      },
    },
    {
      method: 'POST',
      path: '/organisations/:id/leave',
      load,
      errors: ['NOT_FOUND', 'CONFLICT'],
      status: 204,
      operationId: 'leaveOrganisation',
      organisationKeys: true,
      tags,
      summary: 'Leave an organisation; its last owner cannot',
      handler: leave,
    },
  ];
}

/** The routes of the organisation in which a session or a request works. */
function choiceRoutes(context: OrganisationContext): Route[] {
  const { accounts, roles } = context;

  async function chooseOrganisation(ctx: RouteContext<z.output<typeof chooseInput>>) {
    const { organisation: given } = ctx.input;
    if (given === null) {
      await accounts.chooseOrganisation(ctx, undefined);
      return { organisation: null, role: null };
    }
    const { organisation, role } = await loadAccess(context, { ...ctx, params: { id: given } });
    await accounts.chooseOrganisation(ctx, organisation);
    return { organisation, role };
  }

  async function readChoice({ user, service }: RouteContext) {
    const filter = organisationFilter([getOrganisationChoice(user)?.current], undefined);
    const found =
      filter === undefined || Object.keys(filter).length === 0
        ? undefined
        : await service(ORGANISATION).first(filter, { as: 'system' });
    const role = found && (await findRole(context, user!, found.id, service));
    return role === undefined ? { organisation: null, role: null } : { organisation: found!.id, role };
  }

  return [
    {
      method: 'POST',
      path: '/auth/organisation',
      input: chooseInput,
      output: chosenShape,
      errors: ['NOT_FOUND'],
      operationId: 'chooseOrganisation',
      tags,
      summary: 'Choose the organisation in which this session works',
      description: `Requests without the header X-Organisation then work in it. Roles: ${roles.all.join(', ')}.`,
      handler: chooseOrganisation,
    },
    {
      method: 'GET',
      path: '/auth/organisation',
      output: chosenShape,
      errors: [],
      operationId: 'readCurrentOrganisation',
      tags,
      summary: 'Read the organisation in which this request works, and your role in it',
      handler: readChoice,
    },
  ];
}

/** The routes of organisations and their members, besides the lists and reads of both resources. */
export function organisationRoutes(context: OrganisationContext, operations: OrganisationOperations): Route[] {
  const { host, roles } = context;
  const load = createLoad(context);

  async function listMembers(ctx: RouteContext<unknown, Access, z.output<ReturnType<typeof createMemberListQuery>>>) {
    const { role, page, limit } = ctx.query;
    const query = { organisation: ctx.doc.organisation, page, limit, ...(role !== undefined && { role }) };
    const { data, meta } = await host.service(MEMBERSHIP).list(query, { as: 'system' });
    return withMeta(data, meta);
  }

  return [
    {
      method: 'POST',
      path: '/organisations',
      body: 'json',
      bodyShape: recordShape(ORGANISATION, 'create'),
      output: recordShape(ORGANISATION),
      errors: ['FORBIDDEN', 'CONFLICT', 'LIMIT_REACHED', 'VALIDATION_ERROR'],
      status: 201,
      idempotent: true,
      operationId: 'createOrganisation',
      tags,
      summary: 'Create an organisation, of which you become an owner',
      handler: (ctx) => host.transaction((tx) => operations.create(ctx.body, ctx, tx)),
    },
    {
      method: 'DELETE',
      path: '/organisations/:id',
      load,
      recentSignIn: true,
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      status: 204,
      operationId: 'deleteOrganisation',
      tags,
      summary: 'Delete an organisation with all its records; only owners can',
      description: 'Nobody reaches the records from then on. They are deleted in the background.',
      async handler(ctx: RouteContext<unknown, Access>) {
        await host.transaction((tx) => operations.remove(ctx.doc.organisation, ctx.user, tx));
      },
    },
    {
      method: 'GET',
      path: '/organisations/:id/members',
      load,
      query: createMemberListQuery(roles),
      output: recordShape(MEMBERSHIP).array(),
      paged: true,
      errors: ['NOT_FOUND'],
      operationId: 'listOrganisationMembers',
      organisationKeys: true,
      tags,
      summary: 'List the members of an organisation, newest first',
      handler: (ctx) => listMembers(ctx as never),
    },
    ...changeMemberRoutes(context, operations.members),
    ...choiceRoutes(context),
  ];
}
