import type { StoredRecord } from '../../declare/host.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { authorizeCollection } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { validateHooked } from '../hook-faults.ts';
import { type Values, validate } from '../validate.ts';
import { causeOf, conflict, follow, hookContext } from './after-write.ts';
import { hashPasswords } from './hash-passwords.ts';
import { answerOfHook } from './hook-answer.ts';

/**
 * Creates a record: policy, validation, hooks, then the row and its event in one statement.
 *
 * @param options `authorized`: the caller has asked another policy already (registration). `id`: the record's, new when left out.
 *   `faults`: what is wrong with values that keep the declaration's rules, by field
 */
export async function create(
  context: RecordsContext,
  { resource, store }: Entity,
  input: unknown,
  acting: Acting,
  options: { authorized?: boolean; id?: string | undefined; faults?: (values: Values) => ErrorDetails } = {},
): Promise<StoredRecord> {
  if (!acting.system && !options.authorized) await authorizeCollection(resource.policies.create, 'create', acting);
  const rules = { unknownFields: context.settings.unknownFields, updating: false };
  const hooks = resource.declaration.hooks;
  let values = await validate(resource, input, acting, { ...rules, hooked: hooks?.beforeCreate !== undefined });
  if (hooks?.beforeCreate !== undefined) {
    // A hook may change what is in an array or object, too.
    const settled = structuredClone(values);
    const changed = await hooks.beforeCreate(values, hookContext(context, acting));
    values = await validateHooked(resource, answerOfHook(changed, values), acting, { ...rules, settled });
  }
  const faults = options.faults?.(values) ?? {};
  if (Object.keys(faults).length > 0) throw validationError(faults);
  const hashed = await hashPasswords(context, resource, values);
  const record = await store.insert(options.id ?? newId(), hashed, causeOf(acting)).catch((error: unknown) => {
    throw conflict(resource, error);
  });
  const change = { action: 'created', record } as const;
  await follow(context, resource, change, acting, (ctx) => hooks?.afterCreate?.(record as never, ctx));
  return record;
}
