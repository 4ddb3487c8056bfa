import { singularize } from 'inflection';
import type { FieldSpec } from '../../declare/field.ts';
import { fieldTypeOf } from './field-type.ts';

/** Words in names of fields that identify, locate or describe a person. An entry with two words matches names that contain both. */
const PERSONAL_WORDS = [
  ...['email', 'mail', 'phone', 'telephone', 'mobile', 'fax', 'address', 'street', 'zip', 'postcode', 'postal code'],
  ...['iban', 'bic', 'bank account', 'account number', 'card number', 'credit card', 'salary', 'income', 'wage'],
  ...['birth', 'birthday', 'dob', 'age', 'gender', 'sex', 'religion', 'ethnicity', 'nationality', 'health'],
  ...['first name', 'last name', 'full name', 'given name', 'family name', 'middle name', 'maiden name', 'surname'],
  ...['passport', 'ssn', 'social security', 'national id', 'tax id', 'tax number', 'vat number', 'driver license'],
  ...['ip', 'ip address', 'latitude', 'longitude', 'location', 'avatar', 'photo', 'signature', 'fingerprint'],
].map((name) => ` ${name} `);

// Facts about personal data are not personal data: whether an address was verified, when a mail was sent.
const FACT_NAME =
  / (verified|confirmed|valid|enabled|disabled|sent|opened|count|number of|at|required|template|type) $/;

/** The words of a field name in the singular, separated by spaces: `homeAddresses` → ` home address `. */
function singularWordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z]+/);
  const singular = words.filter((word) => word !== '').map((word) => singularize(word.toLowerCase()));
  return ` ${singular.join(' ')} `;
}

/** Whether a name suggests personal data: `homeAddress`, `dateOfBirth`. Undefined for a name of facts about such data. */
export function isPersonalFieldName(name: string): boolean | undefined {
  const words = singularWordsOf(name);
  return FACT_NAME.test(words) ? undefined : PERSONAL_WORDS.some((personal) => words.includes(personal));
}

/**
 * Whether a field holds personal data: it is marked `pii()`, its type is personal, or it is named like personal data. Without `pii()`, the
 * result is a guess. It decides whether the OpenAPI document and the privacy report mention the field, the audit trail masks it, an export
 * contains it, and an erasure empties it.
 */
export function isPersonalField(name: string, spec: FieldSpec): boolean {
  if (spec.pii) return true;
  // A declaration may be malformed here: its errors are reported later.
  if (spec.inner?.spec !== undefined) return isPersonalField(name, spec.inner.spec);
  const { personal } = fieldTypeOf(spec);
  if (personal !== undefined) return personal === 'always';
  const named = isPersonalFieldName(name);
  if (named !== false) return named === true;
  return Object.entries(spec.shape ?? {}).some(
    ([member, field]) => field?.spec !== undefined && isPersonalField(member, field.spec),
  );
}

/** Whether people can write anything about themselves in a field. */
export function isFreeTextField(spec: FieldSpec): boolean {
  return spec.inner === undefined ? fieldTypeOf(spec).freeText === true : isFreeTextField(spec.inner.spec);
}
