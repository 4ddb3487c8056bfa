import type { StoredRecord } from '../declare/host.ts';
import { type ErrorDetails, validationError } from '../platform/errors.ts';
import { isBlank, missingMessage } from '../records/fields/missing-values.ts';
import { folded } from '../records/fields/password-strength.ts';
import { applyRules } from '../records/operations/custom-rules.ts';
import type { CompiledResource } from '../records/schema/compiled.ts';
import { everyField } from '../records/store/codec.ts';

const HAS_EMAIL = 'Your password must not contain your email address';
const HAS_NAME = 'Your password must not contain your name';

/** What is shorter is found in many a good password by chance. */
const SHORTEST_PART = 4;

/** Whose password it is to be. Values of other types than text are passed over. */
interface Whose {
  email?: unknown;
  name?: unknown;
}

/** The words of a name: `Anna-Maria O'Neill` is also `Anna`, `Maria` and `Neill`. */
function wordsOf(name: string): string[] {
  return [...name.split(/\s+/u), ...name.split(/[^\p{L}\p{N}\p{M}]+/u)];
}

/** What is wrong with a password because of whose it is; undefined when nothing is. */
function personalFault(password: string, { email, name }: Whose): string | undefined {
  const text = folded(password);
  const holds = (part: string) => [...part].length >= SHORTEST_PART && text.includes(part);
  if (typeof email === 'string' && holds(folded(email).split('@', 1)[0]!)) return HAS_EMAIL;
  return typeof name === 'string' && wordsOf(folded(name)).some(holds) ? HAS_NAME : undefined;
}

/**
 * Checks a password that is to replace another: the rules of the user resource's password field, then whose it is.
 *
 * @param user the record of whose password it is to be
 * @param input the name of the input, for the message
 * @returns the password to be hashed
 * @throws ApiError VALIDATION_ERROR with one message, under `input`
 */
export async function checkNewPassword(
  resource: CompiledResource,
  value: unknown,
  user: StoredRecord,
  input: string,
): Promise<string> {
  const { spec, schema } = resource.field.get('password')!;
  if (isBlank(value)) throw validationError({ [input]: missingMessage(spec) });
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw validationError({ [input]: parsed.error.issues[0]!.message });
  const details: ErrorDetails = Object.create(null);
  const record: Record<string, unknown> = { ...everyField(resource, user), password: parsed.data };
  const ruled = await applyRules(spec, parsed.data, { record, path: input, details });
  if (!ruled.holds) throw validationError({ ...details });
  const password = ruled.value as string;
  const fault = personalFault(password, record);
  if (fault !== undefined) throw validationError({ [input]: fault });
  return password;
}

/** What is wrong with the password of a new account, for `create`. */
export function registrationFaults({ password, ...whose }: Record<string, unknown>): ErrorDetails {
  const fault = typeof password === 'string' ? personalFault(password, whose) : undefined;
  return fault === undefined ? {} : { password: fault };
}
