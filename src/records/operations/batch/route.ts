import { z } from 'zod';
import { pluralName } from '../../../declare/naming.ts';
import type { Policy, PolicyFunction } from '../../../declare/policy.ts';
import { type Action, deprecationOfAllRoutes } from '../../../declare/resource.ts';
import { type Route, type RouteContext, recordShape } from '../../../declare/route.ts';
import type { ErrorCode } from '../../../platform/helpers/errors.ts';
import type { Translation } from '../../../platform/languages/index.ts';
import { createRequestContext, type OperationContext } from '../../access/operation-context.ts';
import { toPublicOperationError } from '../../access/public-error.ts';
import { declaredOrDefaultPolicy, WRITE_ACTIONS } from '../../schema/compile.ts';
import type { Entity } from '../../store/entity.ts';
import { listGuardErrors } from '../../writes/guard.ts';
import type { RecordsContext } from '../context.ts';
import type { BatchOperation, Outcome } from './item.ts';
import {
  actionsOf,
  batchOperationsOf,
  fieldsToUpsertBy,
  type ParsedBatch,
  parseBatch,
  type WriteAction,
} from './parse.ts';
import { runAtomicBatch, runBatchPerItem } from './run.ts';

const DETAILS_PREFIX = 'operations.';
const ERRORS: readonly ErrorCode[] = [
  'NOT_FOUND',
  'CONFLICT',
  'PRECONDITION_FAILED',
  'METHOD_NOT_ALLOWED',
  'FORBIDDEN',
];
/** How many operations count as one request for rate limits: about as many as cost the server as much as one request. */
const OPERATIONS_PER_REQUEST = 10;

const id = z.string();
const ifMatch = z
  .string()
  .optional()
  .meta({ description: 'The `updatedAt` of the record, or an entity tag as in `If-Match`.' });

/** The schema of each operation of a batch, for the OpenAPI document. */
function createOperationShapes(name: string, uniqueFields: readonly string[]): Record<BatchOperation, z.ZodObject> {
  return {
    create: z.strictObject({ op: z.literal('create'), data: recordShape(name, 'create') }),
    update: z.strictObject({ op: z.literal('update'), id, data: recordShape(name, 'update'), ifMatch }),
    upsert: z.strictObject({
      op: z.literal('upsert'),
      by: z.enum(uniqueFields as [string, ...string[]]),
      data: recordShape(name, 'create'),
    }),
    delete: z.strictObject({ op: z.literal('delete'), id, ifMatch }),
  };
}

function createBodyShape({ resource }: Entity): z.ZodType {
  const uniqueFields = fieldsToUpsertBy(resource, { system: true, user: undefined }).filter(({ secret }) => !secret);
  const names = uniqueFields.map(({ name }) => name);
  const shapes = createOperationShapes(resource.name, names.length === 0 ? ['none'] : names);
  const operations = batchOperationsOf(resource).filter((op) => op !== 'upsert' || names.length > 0);
  return z.strictObject({
    mode: z.enum(['atomic', 'perItem']).default('atomic'),
    operations: z
      .array(z.union(operations.map((op) => shapes[op])))
      .min(1)
      .max(resource.maxBatchOperations!),
  });
}

function createOutputShape(name: string): z.ZodType {
  const error = z.object({
    code: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.string()).optional(),
  });
  return z.array(z.object({ status: z.int(), data: recordShape(name).optional(), error: error.optional() }));
}

/** The policies of all actions that a batch may perform, as alternatives: each operation is authorized by its own policy. */
function combinePolicies({ declaration, actions }: Entity['resource']): Policy {
  const policies = WRITE_ACTIONS.filter((action) => actions.has(action)).map((action: Action) =>
    declaredOrDefaultPolicy(declaration, action),
  );
  const parts = policies.flatMap((policy): readonly (string | PolicyFunction)[] =>
    Array.isArray(policy) ? policy : [policy as string | PolicyFunction],
  );
  const words = (part: string | PolicyFunction): readonly (string | PolicyFunction)[] =>
    typeof part === 'string' ? part.split(/\s*\|\s*/) : [part];
  return [...new Set(parts.flatMap(words))];
}

const STATUS = { created: 201, updated: 200, deleted: 204 } as const;

/** Converts an error to the error of its item, in the language of the client; an unexpected error is logged. */
function toItemError(
  context: RecordsContext,
  { resource }: Entity,
  error: unknown,
  operation: OperationContext,
  translation: Translation,
) {
  const { status, code, message, details } = translation.error(toPublicOperationError(error));
  if (status >= 500) {
    const { requestId } = operation;
    context.log.error({ err: error, requestId, resource: resource.name }, 'an operation of a batch failed');
  }
  return { status, error: { code, message, ...(details === undefined ? {} : { details }) } };
}

/** The result of an item in the response. Stored records are serialized for the caller, all at once. */
function toResult(
  context: RecordsContext,
  entity: Entity,
  outcome: Outcome,
  operation: OperationContext,
  translation: Translation,
) {
  if ('error' in outcome) return toItemError(context, entity, outcome.error, operation, translation);
  const status = STATUS[outcome.action];
  return outcome.action === 'deleted' ? { status } : { status, data: outcome.record };
}

async function runBatch(
  context: RecordsContext,
  entity: Entity,
  { mode, items, malformed }: ParsedBatch,
  operation: OperationContext,
): Promise<Outcome[]> {
  const room = { bytes: context.settings.http.batchBytes };
  const options = { operation, prefix: DETAILS_PREFIX, room };
  if (mode === 'atomic') return runAtomicBatch(context, entity, items, { ...options, known: malformed });
  const outcomes = await runBatchPerItem(context, entity, items, options);
  for (const { place, error } of malformed) outcomes[place] = { error };
  return outcomes;
}

/** The single routes whose work a batch does. A key needs the scopes of each. */
function createPerformedRoutes({ resource: { path, name } }: Entity): Route['performs'] {
  const shared = { resource: name, handler: () => undefined };
  const item = `${path}/:id`;
  const routes: Record<WriteAction, Route> = {
    create: { ...shared, method: 'POST', path, crud: 'create' },
    update: { ...shared, method: 'PATCH', path: item, crud: 'update' },
    delete: { ...shared, method: 'DELETE', path: item, crud: 'delete' },
  };
  return {
    routes: Object.values(routes),
    select(body) {
      const used = new Set(operationsIn(body).flatMap((one) => actionsOf((one as { op?: unknown } | null)?.op)));
      return [...used].map((action) => routes[action]);
    },
  };
}

function operationsIn(body: unknown): readonly unknown[] {
  const operations = (body as { operations?: unknown } | null | undefined)?.operations;
  return Array.isArray(operations) ? operations : [];
}

/** The route that performs many creates, updates, upserts and deletions of a resource in one request. */
export function createBatchRoute(context: RecordsContext, entity: Entity): Route {
  const { resource } = entity;
  const { name } = resource;
  const plural = pluralName(name).replaceAll('-', ' ');
  const deprecated = deprecationOfAllRoutes(resource.declaration);
  return {
    method: 'POST',
    path: `${resource.path}/batch`,
    policy: combinePolicies(resource),
    authorize: 'handler',
    body: 'json',
    bodyShape: createBodyShape(entity),
    bodyLimit: context.settings.http.batchBytes,
    weight: (body) => Math.max(1, Math.ceil(operationsIn(body).length / OPERATIONS_PER_REQUEST)),
    performs: createPerformedRoutes(entity),
    passesOtherMethods: true,
    idempotent: true,
    output: createOutputShape(name),
    tags: [name],
    summary: `Change many ${plural} at once`,
    description:
      'Performs the operations in order. `atomic`: all of them or none. `perItem`: each succeeds or fails by itself, with the status that its own route would have.',
    get errors(): readonly ErrorCode[] {
      return [...ERRORS, ...listGuardErrors(context, resource)];
    },
    ...(deprecated === undefined ? {} : { deprecated }),
    async handler(ctx: RouteContext) {
      const operation = createRequestContext(ctx);
      const batch = parseBatch(resource, ctx.body, operation, resource.maxBatchOperations!);
      const outcomes = await runBatch(context, entity, batch, operation);
      const translation = context.languages.for(ctx.req);
      return outcomes.map((outcome) => toResult(context, entity, outcome, operation, translation));
    },
  };
}
