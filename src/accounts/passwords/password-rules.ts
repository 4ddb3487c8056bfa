import type { StoredRecord } from '../../declare/host.ts';
import { type ErrorDetails, validationError } from '../../platform/helpers/errors.ts';
import { isBlank, missingValueMessage } from '../../records/fields/missing-values.ts';
import { normalizeForComparison } from '../../records/fields/password-strength.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { allFieldValuesOf } from '../../records/store/codec.ts';
import { applyFieldRules } from '../../records/writes/custom-rules.ts';

const HAS_EMAIL = 'Your password must not contain your email address';
const HAS_NAME = 'Your password must not contain your name';

/** Minimum length of a part of a name or address, in characters: shorter ones occur in good passwords by chance. */
const SHORTEST_PART = 4;

/** The personal data that a password must not contain. Values that are not strings are ignored. */
interface PersonalData {
  email?: unknown;
  name?: unknown;
}

/** Returns the words of a name: `Anna-Maria O'Neill` is also `Anna`, `Maria` and `Neill`. */
function wordsOf(name: string): string[] {
  return [...name.split(/\s+/u), ...name.split(/[^\p{L}\p{N}\p{M}]+/u)];
}

/** Returns an error if a password contains its user's name or the local part of their address. */
function personalDataError(password: string, { email, name }: PersonalData): string | undefined {
  const text = normalizeForComparison(password);
  const contains = (part: string) => [...part].length >= SHORTEST_PART && text.includes(part);
  if (typeof email === 'string' && contains(normalizeForComparison(email).split('@', 1)[0]!)) return HAS_EMAIL;
  return typeof name === 'string' && wordsOf(normalizeForComparison(name)).some(contains) ? HAS_NAME : undefined;
}

/**
 * Checks a new password of an existing user: first the rules of the password field, then that it does not contain personal data.
 *
 * @param user the record of the user
 * @param input the field of the body that the error names
 * @returns the password to hash
 * @throws ApiError VALIDATION_ERROR with one message, under `input`
 */
export async function checkNewPassword(
  resource: CompiledResource,
  value: unknown,
  user: StoredRecord,
  input: string,
): Promise<string> {
  const { spec, schema } = resource.field.get('password')!;
  if (isBlank(value)) throw validationError({ [input]: missingValueMessage(spec) });
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw validationError({ [input]: parsed.error.issues[0]!.message });
  const details: ErrorDetails = Object.create(null);
  const record: Record<string, unknown> = { ...allFieldValuesOf(resource, user), password: parsed.data };
  const ruled = await applyFieldRules(spec, parsed.data, { record, path: input, details });
  if (!ruled.passed) throw validationError({ ...details });
  const password = ruled.value as string;
  const error = personalDataError(password, record);
  if (error !== undefined) throw validationError({ [input]: error });
  return password;
}

/** Returns the validation errors of a new account's password: the `check` of `createRecord` for users. */
export function registrationPasswordErrors({ password, ...personalData }: Record<string, unknown>): ErrorDetails {
  const error = typeof password === 'string' ? personalDataError(password, personalData) : undefined;
  return error === undefined ? {} : { password: error };
}
