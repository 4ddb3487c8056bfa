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
import { guardErrorsOf } from './writes/guard.ts';

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

/**
 * The CRUD routes of a resource. Their handlers authorize the request themselves, often inside the statement that they run, and return
 * stored records, which the endpoint serializes.
 */
export function crudRoutes(context: RecordsContext, entity: Entity): Route[] {
  const { resource } = entity;
  const { name } = resource;
  const shared = { tags: [name], authorize: 'handler' as const, resource: name };
  const [singular, plural] = [name, pluralName(name)].map((text) => text.replaceAll('-', ' '));
  const recordOutput = recordShape(name);
  const item = `${resource.path}/:id`;
  const withForm = <T>(ctx: RouteContext, write: () => Promise<T>) =>
    resource.holdsFiles ? discardFormOnError(context, ctx, write) : write();
  const formOf = (view: 'create' | 'update') => (resource.holdsFiles ? context.files!.createForm(resource, view) : {});
  const handleUpdate = (ctx: RouteContext) =>
    withForm(ctx, () => updateRecord(context, entity, ctx.params.id!, ctx.body, createWriteContext(ctx)));

  const routes: Record<string, Route[]> = {
    list: [
      {
        ...shared,
        method: 'GET',
        path: resource.path,
        summary: `List ${plural}`,
        output: z.array(recordOutput),
        async handler(ctx) {
          const operation = createRequestContext(ctx);
          const source = chooseListSource(context, entity, operation, ctx.query);
          const { records, query, meta } = await listRecords(context, entity, ctx.query, operation, { source });
          const { context: reading, addReadTime } = await source;
          return withMeta(
            markForSerialization(name, records, { selection: query, context: reading }),
            addReadTime(meta),
          );
        },
      },
    ],
    read: [
      {
        ...shared,
        method: 'GET',
        path: item,
        summary: `Read a ${singular}`,
        output: recordOutput,
        async handler(ctx) {
          const record = await readRecord(entity, ctx.params.id!, createRequestContext(ctx));
          const selection = parseReadQuery(resource, ctx.query, (name) => context.entities.get(name)!.resource);
          return markForSerialization(name, record, { selection });
        },
      },
    ],
    create: [
      {
        ...shared,
        method: 'POST',
        path: resource.path,
        body: 'json',
        status: 201,
        idempotent: 'create',
        summary: `Create a ${singular}`,
        bodyShape: recordShape(name, 'create'),
        output: recordOutput,
        ...formOf('create'),
        handler: (ctx) =>
          withForm(ctx, () =>
            createRecord(context, entity, ctx.body, createRequestContext(ctx), { id: reservedIdOf(ctx.req) }),
          ),
      },
    ],
    update: [
      {
        ...shared,
        method: 'PATCH',
        path: item,
        body: 'json',
        summary: `Update a ${singular}`,
        bodyShape: recordShape(name, 'update'),
        output: recordOutput,
        ...formOf('update'),
        handler: handleUpdate,
      },
      { ...shared, method: 'PUT', path: item, body: 'json', ...formOf('update'), hidden: true, handler: handleUpdate },
    ],
    delete: [
      {
        ...shared,
        method: 'DELETE',
        path: item,
        status: 204,
        summary: `Delete a ${singular}`,
        async handler(ctx) {
          await deleteRecord(context, entity, ctx.params.id!, createWriteContext(ctx));
        },
      },
    ],
  };
  const policyOf = (action: Action) => declaredOrDefaultPolicy(resource.declaration, action);
  const restoreRoute: Route = {
    ...shared,
    method: 'POST',
    path: `${item}/restore`,
    policy: policyOf('delete'),
    ...deprecatedBy(deprecationOfAllRoutes(resource.declaration)),
    summary: `Restore a deleted ${singular}`,
    get errors(): readonly ErrorCode[] {
      return ['CONFLICT', 'VALIDATION_ERROR', ...guardErrorsOf(context, resource)];
    },
    output: recordOutput,
    handler: (ctx) => restoreRecord(context, entity, ctx.params.id!, createWriteContext(ctx)),
  };
  return [
    ...[...resource.actions].flatMap((action) =>
      routes[action]!.map((route) => ({
        ...route,
        crud: action,
        get errors() {
          return action === 'list' || action === 'read' ? undefined : guardErrorsOf(context, resource);
        },
        policy: policyOf(action),
        ...deprecatedBy(deprecationOfAction(resource.declaration, action)),
      })),
    ),
    ...(resource.softDelete && resource.actions.has('delete') ? [restoreRoute] : []),
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
