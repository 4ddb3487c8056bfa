import { z } from 'zod';
import type { StoredRecord } from '../declare/host.ts';
import { pluralName } from '../declare/naming.ts';
import { recordShape } from '../declare/record-shape.ts';
import type { Action } from '../declare/resource.ts';
import { type Route, type RouteContext, routeBuilder } from '../declare/route.ts';
import { withMeta, withVersion } from '../platform/http/answer.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { OperationContext } from './access/operation-context.ts';
import type { Entity, RecordsContext } from './context.ts';
import { create } from './operations/create.ts';
import { readIfMatch } from './operations/if-match.ts';
import { list } from './operations/list.ts';
import { read } from './operations/read.ts';
import { remove } from './operations/remove.ts';
import { reservedIdOf } from './operations/reserved-id.ts';
import { restore } from './operations/restore.ts';
import { update } from './operations/update.ts';
import { parseReadQuery } from './query/parse.ts';
import { declaredPolicy } from './schema/compile.ts';
import { serializeRecords } from './serialize/populate.ts';

function operationFor(ctx: RouteContext): OperationContext {
  const { user, req, service } = ctx;
  return { user, req, requestId: requestIdOf(req), system: false, service };
}

function guarded(ctx: RouteContext): OperationContext {
  return { ...operationFor(ctx), ifMatch: readIfMatch(ctx.req) };
}

/** The CRUD routes of a resource. Their handlers ask the policies themselves: often inside the statement that they run. */
export function crudRoutes(context: RecordsContext, entity: Entity): Route[] {
  const { resource } = entity;
  const { name } = resource;
  const shared = { tags: [name], authorize: 'handler' as const, resource: name };
  const [spoken, spokenAll] = [name, pluralName(name)].map((text) => text.replaceAll('-', ' '));
  const whole = recordShape(name);
  const one = async (ctx: RouteContext, record: StoredRecord) =>
    withVersion((await serializeRecords(context, resource, [record], ctx))[0], entity.versionOf(record));
  const item = `${resource.path}/:id`;
  const change = async (ctx: RouteContext) =>
    one(ctx, await update(context, entity, ctx.params.id!, ctx.body, guarded(ctx)));

  const routes: Record<string, Route[]> = {
    list: [
      {
        ...shared,
        method: 'GET',
        path: resource.path,
        summary: `List ${spokenAll}`,
        output: z.array(whole),
        async handler(ctx) {
          const { records, query, meta } = await list(context, entity, ctx.query, operationFor(ctx));
          return withMeta(await serializeRecords(context, resource, records, ctx, query), meta);
        },
      },
    ],
    read: [
      {
        ...shared,
        method: 'GET',
        path: item,
        summary: `Read a ${spoken}`,
        output: whole,
        async handler(ctx) {
          const record = await read(entity, ctx.params.id!, operationFor(ctx));
          const query = parseReadQuery(resource, ctx.query, (name) => context.entities.get(name)!.resource);
          const [shown] = await serializeRecords(context, resource, [record], ctx, query);
          return withVersion(shown, entity.versionOf(record));
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
        summary: `Create a ${spoken}`,
        bodyShape: recordShape(name, 'create'),
        output: whole,
        async handler(ctx) {
          return one(ctx, await create(context, entity, ctx.body, operationFor(ctx), { id: reservedIdOf(ctx.req) }));
        },
      },
    ],
    update: [
      {
        ...shared,
        method: 'PATCH',
        path: item,
        body: 'json',
        summary: `Change a ${spoken}`,
        bodyShape: recordShape(name, 'update'),
        output: whole,
        handler: change,
      },
      { ...shared, method: 'PUT', path: item, body: 'json', hidden: true, handler: change },
    ],
    delete: [
      {
        ...shared,
        method: 'DELETE',
        path: item,
        status: 204,
        summary: `Delete a ${spoken}`,
        async handler(ctx) {
          await remove(context, entity, ctx.params.id!, guarded(ctx));
        },
      },
    ],
  };
  const policyOf = (action: Action) => declaredPolicy(resource.declaration, action);
  const restores: Route = {
    ...shared,
    method: 'POST',
    path: `${item}/restore`,
    policy: policyOf('delete'),
    summary: `Take a deleted ${spoken} back`,
    errors: ['CONFLICT'],
    output: whole,
    handler: async (ctx) => one(ctx, await restore(context, entity, ctx.params.id!, guarded(ctx))),
  };
  return [
    ...[...resource.actions].flatMap((action) =>
      routes[action]!.map((route) => ({ ...route, crud: action, policy: policyOf(action) })),
    ),
    ...(resource.softDelete && resource.actions.has('delete') ? [restores] : []),
  ];
}

/** The custom routes of a resource: mounted before its CRUD routes. */
export function customRoutes({ resource }: Entity): readonly Route[] {
  const routes = resource.declaration.routes?.(routeBuilder(resource.path, resource.name)) ?? [];
  return routes.map((route) => ({ tags: [resource.name], ...route }));
}
