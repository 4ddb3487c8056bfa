import type { IncomingMessage } from 'node:http';
import type { StoredRecord } from '../../declare/host.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';
import { perRequest } from '../../platform/http/per-request.ts';
import { newId } from '../../platform/ids.ts';
import { authorizeCollection } from '../access/authorize.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { actionRule, inRule } from '../access/rule-errors.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { hookContext, hookResult, validateHooked } from './hooks.ts';
import { type Values, validate } from './validate.ts';
import { causeOf, conflict, finishWrite, hashPasswords } from './write-steps.ts';

const reserved = perRequest<string>('reserved id');

/** Reserves the id of the record that a request creates. The id distinguishes a repeated request from a new one. */
export function reserveId(req: IncomingMessage, id: string): void {
  reserved.set(req, id);
}

/** The id that the record of this request must get; undefined if any new id will do. */
export function reservedIdOf(req: IncomingMessage): string | undefined {
  return reserved.get(req);
}

interface Options {
  /** The caller has already checked another policy (registration). */
  authorized?: boolean;
  /** The record's id; left out: a new one. */
  id?: string | undefined;
  /** Additional validation errors, by field, for values that pass the declaration's rules. */
  check?: (values: Values) => ErrorDetails;
}

async function insert(
  context: RecordsContext,
  { resource, store }: Entity,
  input: unknown,
  operation: OperationContext,
  options: Options,
): Promise<StoredRecord> {
  if (!operation.system && !options.authorized) {
    const onError = actionRule(resource, 'create', { doc: undefined, req: operation.req });
    await authorizeCollection(resource.policies.create, 'create', operation, onError);
  }
  const { unknownFields, http } = context.settings;
  const rules = { unknownFields, maxUnknown: http.bodyKeys, updating: false };
  const hooks = resource.declaration.hooks;
  let values = await validate(resource, input, operation, { ...rules, hooked: hooks?.beforeCreate !== undefined });
  if (hooks?.beforeCreate !== undefined) {
    // A hook may also change nested values of arrays and objects.
    const settled = structuredClone(values);
    const { beforeCreate } = hooks;
    const given = values;
    const changed: unknown = await inRule(resource.name, 'hooks.beforeCreate', () =>
      beforeCreate(given, hookContext(context, operation)),
    );
    values = await validateHooked(resource, hookResult(changed, values), operation, { ...rules, settled });
  }
  const refused = options.check?.(values) ?? {};
  if (Object.keys(refused).length > 0) throw validationError(refused);
  const hashed = await hashPasswords(context, resource, values);
  return store.insert(options.id ?? newId(), hashed, causeOf(operation)).catch((error: unknown) => {
    throw conflict(resource, error);
  });
}

/** Creates a record: policy, validation, hooks, then the row and its event in one statement. */
export async function createRecord(
  context: RecordsContext,
  entity: Entity,
  input: unknown,
  operation: OperationContext,
  options: Options = {},
): Promise<StoredRecord> {
  const { resource } = entity;
  const hooks = resource.declaration.hooks;
  const record = await (hooks?.beforeCreate === undefined
    ? insert(context, entity, input, operation, options)
    : context.withTransaction(entity, operation, (own, joined, as) => insert(own, joined, input, as, options)));
  const change = { action: 'created', record } as const;
  await finishWrite(context, resource, change, operation, (ctx) => hooks?.afterCreate?.(record as never, ctx));
  return record;
}
