import type { StoredRecord } from '../../declare/host.ts';
import type { TransactionalPushSender } from '../../declare/push.ts';
import type { HookContext } from '../../declare/resource.ts';
import type { Senders } from '../../declare/senders.ts';
import type { Services } from '../../declare/service.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { allowsAction } from '../../rules/allows-action.ts';
import { createPolicyArguments, type OperationContext } from '../access/operation-context.ts';
import { policyFilterConditions } from '../access/scope.ts';
import { isOwner } from '../access/visibility.ts';
import { shortenForMessage } from '../query/parameter.ts';
import type { CompiledField, CompiledResource, Values } from '../schema/compiled.ts';
import { createHidingErrorHandler, runProjectCode } from '../schema/rule-errors.ts';
import { type FilesContext, resolveFiles } from './files.ts';
import { copyValuesForPolicy, validateInput } from './validate.ts';
import {
  type FieldWrite,
  findWriteRefusal,
  findWriteRefusalByFunction,
  needsWritableByFunction,
} from './writable-fields.ts';

/** What every hook receives to work with. */
export interface HookServices {
  service: Services;
  /** The push sender that hooks receive as `ctx.push`. */
  push: TransactionalPushSender;
  /** What hooks receive to send e-mails, publish events and enqueue jobs. They find the transaction of the calling code by themselves. */
  senders: Senders;
}

/**
 * The context that hooks receive.
 *
 * @param restored whether the hook runs for the restore of a deleted record
 */
export function createHookContext(services: HookServices, operation: OperationContext, restored = false): HookContext {
  const { service, push } = services;
  const { mail, webhooks, jobs } = services.senders;
  const as = operation.system ? 'system' : 'user';
  return { user: operation.user, req: operation.req, as, restored, service, push, mail, webhooks, jobs };
}

/**
 * Runs a `before` hook.
 *
 * @returns the value that the hook returned, or else the given values, which it may have changed in place
 * @throws Error if the hook returned false: other frameworks treat false as a refusal, but here the write would continue
 */
export async function runBeforeHook(
  resource: string,
  hook: 'beforeCreate' | 'beforeUpdate' | 'beforeDelete' | 'beforeRestore',
  values: object,
  run: () => unknown,
): Promise<object> {
  const returned: unknown = await runProjectCode(resource, `hooks.${hook}`, run);
  if (returned === false)
    throw new Error('a hook returned false, which does not stop the write; to refuse it, throw an ApiError');
  return typeof returned === 'object' && returned !== null ? returned : values;
}

interface HookValidation {
  unknownFields: 'reject' | 'strip';
  maxUnknown: number;
  updating: boolean;
  meets?: FieldWrite['meets'];
  before?: StoredRecord | undefined;
  /** The values that were validated before the hook ran. */
  validated: Values;
}

/** Whether the client may set and see a field: then the response may contain its validation errors. */
async function canClientSetAndSee(field: CompiledField, write: FieldWrite, doc: StoredRecord): Promise<boolean> {
  if (findWriteRefusal(field, write) !== undefined) return false;
  if (needsWritableByFunction(field, write) && (await findWriteRefusalByFunction(field, write, doc)) !== undefined)
    return false;
  if (field.visibleTo === undefined) return true;
  const { resource, operation, updating, meets } = write;
  const args = createPolicyArguments(operation, 'read', doc);
  // Functions are written for stored records, and no viewer has seen a record before it is created.
  const policy = updating ? field.visibleTo : { ...field.visibleTo, functions: [] };
  const rule = { resource: resource.name, rule: 'visibleTo', field: field.name };
  return allowsAction(
    policy,
    args,
    isOwner(resource, doc, operation),
    createHidingErrorHandler(resource.reportRuleError, rule, operation.req),
    (filter) => meets?.(policyFilterConditions(resource, filter), doc) ?? false,
  );
}

/** The fields in an error's details that the client must not learn about. */
async function findErrorFieldsHiddenFromClient(
  error: ApiError,
  write: FieldWrite,
  doc: StoredRecord,
): Promise<string[]> {
  const names = new Set(Object.keys(error.details ?? {}).map((path) => path.split('.', 1)[0]!));
  const foreign: string[] = [];
  for (const name of names) {
    const field = write.resource.field.get(name);
    if (field === undefined || !(await canClientSetAndSee(field, write, doc))) foreign.push(name);
  }
  return foreign;
}

/**
 * Validates the result of a `before` hook. Values that the hook changed come from code, not from a client: they are validated like the
 * system's input.
 *
 * @returns the values to store
 * @throws ApiError VALIDATION_ERROR if all errors concern fields that the client may see and set; otherwise an error of the project, which
 *   names the fields but no values
 */
async function validateHookResult(
  resource: CompiledResource,
  given: unknown,
  operation: OperationContext,
  options: HookValidation,
): Promise<Values> {
  try {
    return await validateInput(resource, given, { ...operation, system: true }, options);
  } catch (error) {
    if (operation.system || !(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) throw error;
    const { before, updating, validated, meets } = options;
    const doc = before ?? (copyValuesForPolicy(resource, validated) as StoredRecord);
    const names = await findErrorFieldsHiddenFromClient(error, { resource, operation, updating, before, meets }, doc);
    if (names.length === 0) throw error;
    const fields = names.map((name) => `"${shortenForMessage(name)}"`).join(', ');
    // Leave out the cause of this error: the log would show the details of the cause, and with them the values.
    throw new Error(
      `hooks.${updating ? 'beforeUpdate' : 'beforeCreate'} of "${resource.name}" returned invalid values for ${fields}`,
    );
  }
}

/**
 * Runs the hook of a create or an update on validated values, and validates its result.
 *
 * @param hook `run` calls the hook with the values; `recordId` is the record of an update
 * @returns the values to store, and those that were validated before the hook ran
 * @throws ApiError and errors of the project, as `validateHookResult` and `runBeforeHook`
 */
export async function applyBeforeHook(
  context: HookServices & Pick<FilesContext, 'files'>,
  resource: CompiledResource,
  values: Values,
  operation: OperationContext,
  hook: { run: (ctx: HookContext) => unknown; rules: Omit<HookValidation, 'validated'>; recordId?: string },
): Promise<{ values: Values; validated: Values }> {
  const { run, rules, recordId } = hook;
  // A hook may also change nested values of arrays and objects.
  const validated = structuredClone(values);
  const changed = await runBeforeHook(resource.name, rules.updating ? 'beforeUpdate' : 'beforeCreate', values, () =>
    run(createHookContext(context, operation)),
  );
  const resolved = resource.holdsFiles
    ? await resolveFiles(context, resource, changed, { ...operation, system: true }, { recordId, validated })
    : changed;
  return { values: await validateHookResult(resource, resolved, operation, { ...rules, validated }), validated };
}
