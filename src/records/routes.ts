import { z } from 'zod';
import type { Deprecation } from '../declare/deprecation.ts';
import { pluralName } from '../declare/naming.ts';
import { type Action, deprecationOfAction, deprecationOfAllRoutes } from '../declare/resource.ts';
import { createRouteBuilder, type Route, type RouteContext, recordShape } from '../declare/route.ts';
import type { ErrorCode } from '../platform/helpers/errors.ts';
import { withMeta } from '../platform/http/response.ts';
import { createRequestContext, type OperationContext } from './access/operation-context.ts';
import { createBatchRoute } from './operations/batch/route.ts';
import type { RecordsContext } from './operations/context.ts';
import { createRecord, reservedIdOf } from './operations/create.ts';
import { deleteRecord } from './operations/delete.ts';
import { chooseListSource } from './operations/list-source.ts';
import { listRecords, readRecord } from './operations/read.ts';
import { restoreRecord } from './operations/restore.ts';
import { updateRecord } from './operations/update.ts';
import { parseReadQuery } from './query/parse.ts';
import { declaredOrDefaultPolicy } from './schema/compile.ts';
import { isOfOrganisations } from './schema/organisation-resources.ts';
import { markForSerialization } from './serialize/serialize.ts';
import type { Entity } from './store/entity.ts';
import { parseIfMatchHeader } from './store/versions.ts';
import { listGuardErrors } from './writes/guard.ts';

/** The context of a write that honors `If-Match`. */
function createWriteContext(ctx: RouteContext): OperationContext {
  return { ...createRequestContext(ctx), ifMatch: parseIfMatchHeader(ctx.req) };
}

/** Runs a write. If it fails, the files that came with its form are discarded. */
async function discardFormOnError<T>(
  { files }: RecordsContext,
  { req }: RouteContext,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    await files!.discardForm(req);
    throw error;
  }
}

function deprecatedBy(deprecation: Deprecation | undefined): Pick<Route, 'deprecated'> {
  return deprecation === undefined ? {} : { deprecated: deprecation };
}

/** Returns what the CRUD routes of a resource share: the path of one record, the resource's names in sentences, and the schema of a record. */
function describeRoutes({ resource: { name, path } }: Entity) {
  const [singular, plural] = [name, pluralName(name)].map((text) => text.replaceAll('-', ' '));
  const shared = { tags: [name], authorize: 'handler' as const, resource: name };
  return { shared, item: `${path}/:id`, singular, plural, output: recordShape(name) };
}

/** The routes `list` and `read`. */
function createReadRoutes(context: RecordsContext, entity: Entity) {
  const { resource } = entity;
  const { shared, item, singular, plural, output } = describeRoutes(entity);
  const list: Route = {
    ...shared,
    method: 'GET',
    path: resource.path,
    summary: `List ${plural}`,
    output: z.array(output),
    async handler(ctx) {
      const operation = createRequestContext(ctx);
      const source = chooseListSource(context, entity, operation, ctx.query);
      const { records, query, meta } = await listRecords(context, entity, ctx.query, operation, { source });
      const { context: reading, addReadTime } = await source;
      return withMeta(
        markForSerialization(resource.name, records, { selection: query, context: reading }),
        addReadTime(meta),
      );
    },
  };
  const read: Route = {
    ...shared,
    method: 'GET',
    path: item,
    summary: `Read a ${singular}`,
    output,
    async handler(ctx) {
      const record = await readRecord(entity, ctx.params.id!, createRequestContext(ctx));
      const selection = parseReadQuery(resource, ctx.query, (name) => context.entities.get(name)!.resource);
      return markForSerialization(resource.name, record, { selection });
    },
  };
  return { list: [list], read: [read] };
}

/** The routes `create`, `update` and `delete`. */
function createWriteRoutes(context: RecordsContext, entity: Entity) {
  const { resource } = entity;
  const { shared, item, singular, output } = describeRoutes(entity);
  const withForm = <T>(ctx: RouteContext, write: () => Promise<T>) =>
    resource.holdsFiles ? discardFormOnError(context, ctx, write) : write();
  const createForm = (view: 'create' | 'update') =>
    resource.holdsFiles ? context.files!.createForm(resource, view) : {};
  const create: Route = {
    ...shared,
    method: 'POST',
    path: resource.path,
    body: 'json',
    status: 201,
    idempotent: 'create',
    summary: `Create a ${singular}`,
    bodyShape: recordShape(resource.name, 'create'),
    output,
    ...createForm('create'),
    handler: (ctx) =>
      withForm(ctx, () =>
        createRecord(context, entity, ctx.body, createRequestContext(ctx), { id: reservedIdOf(ctx.req) }),
      ),
  };
  const change = {
    ...shared,
    path: item,
    body: 'json',
    ...createForm('update'),
    handler: (ctx: RouteContext) =>
      withForm(ctx, () => updateRecord(context, entity, ctx.params.id!, ctx.body, createWriteContext(ctx))),
  } as const;
  const update: Route = {
    ...change,
    method: 'PATCH',
    summary: `Update a ${singular}`,
    bodyShape: recordShape(resource.name, 'update'),
    output,
  };
  const replace: Route = { ...change, method: 'PUT', hidden: true };
  const remove: Route = {
    ...shared,
    method: 'DELETE',
    path: item,
    status: 204,
    summary: `Delete a ${singular}`,
    async handler(ctx) {
      await deleteRecord(context, entity, ctx.params.id!, createWriteContext(ctx));
    },
  };
  return { create: [create], update: [update, replace], delete: [remove] };
}

/** The route that restores a deleted record. */
function createRestoreRoute(context: RecordsContext, entity: Entity): Route {
  const { resource } = entity;
  const { shared, item, singular, output } = describeRoutes(entity);
  return {
    ...shared,
    method: 'POST',
    path: `${item}/restore`,
    policy: declaredOrDefaultPolicy(resource.declaration, 'delete'),
    ...deprecatedBy(deprecationOfAllRoutes(resource.declaration)),
    summary: `Restore a deleted ${singular}`,
    get errors(): readonly ErrorCode[] {
      return ['CONFLICT', 'VALIDATION_ERROR', ...listGuardErrors(context, resource)];
    },
    output,
    handler: (ctx) => restoreRecord(context, entity, ctx.params.id!, createWriteContext(ctx)),
  };
}

/**
 * The CRUD routes of a resource. Their handlers authorize the request themselves, often inside the statement that they run, and return
 * stored records, which the endpoint serializes.
 */
export function crudRoutes(context: RecordsContext, entity: Entity): Route[] {
  const { resource } = entity;
  const { actions, declaration } = resource;
  const routes: Record<Action, Route[]> = {
    ...createReadRoutes(context, entity),
    ...createWriteRoutes(context, entity),
  };
  return [
    ...[...actions].flatMap((action) =>
      routes[action].map((route) => ({
        ...route,
        crud: action,
        get errors() {
          return action === 'list' || action === 'read' ? undefined : listGuardErrors(context, resource);
        },
        policy: declaredOrDefaultPolicy(declaration, action),
        ...deprecatedBy(deprecationOfAction(declaration, action)),
      })),
    ),
    ...(resource.softDelete && actions.has('delete') ? [createRestoreRoute(context, entity)] : []),
    ...(resource.maxBatchOperations === undefined ? [] : [createBatchRoute(context, entity)]),
  ];
}

/** The custom routes of a resource, mounted before its CRUD routes. */
export function customRoutes({ resource }: Entity): readonly Route[] {
  const routes = resource.declaration.routes?.(createRouteBuilder(resource.path, resource.name)) ?? [];
  const shared = { tags: [resource.name], ...deprecatedBy(deprecationOfAllRoutes(resource.declaration)) };
  return routes.map((route) => ({
    ...shared,
    ...route,
    ...(route.resource === undefined && { organisationKeys: route.organisationKeys ?? false }),
  }));
}

/**
 * Opens routes to the API keys of organisations: those of records that belong to organisations, because the scope limits such a key to records of
 * its organisation. A custom route without a record decides itself what it reads, so it needs its own declaration.
 */
export function openToOrganisationKeys({ resource }: Entity, routes: readonly Route[]): Route[] {
  const isOpen = isOfOrganisations(resource);
  return routes.map((route) => ({ ...route, organisationKeys: route.organisationKeys ?? isOpen }));
}

/** Whether an express path may match a fixed path. A pattern with optional parts or wildcards counts as matching if it begins alike. */
function mayMatch(pattern: string, path: string): boolean {
  const [fixed] = pattern.split(/[{*]/, 1);
  if (fixed !== pattern) return path.startsWith(fixed!.replace(/:.*$/, ''));
  const [expected, segments] = [pattern.split('/'), path.split('/')];
  return expected.length === segments.length && expected.every((one, i) => one.startsWith(':') || one === segments[i]);
}

/** Removes the batch route of a resource if another route takes its requests: the batch route must not change any declared route. */
export function removeShadowingBatchRoutes(routes: readonly Route[]): Route[] {
  const posts = routes.filter(({ method, passesOtherMethods }) => method === 'POST' && !passesOtherMethods);
  return routes.filter(
    ({ path, passesOtherMethods }) => !passesOtherMethods || !posts.some((other) => mayMatch(other.path, path)),
  );
}
