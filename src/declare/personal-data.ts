import { singularize } from 'inflection';
import type { FieldSpec } from './field.ts';

/** Words that name what identifies, locates or describes a person. Two words stand for names that are made of both. */
const PERSONAL = [
  ...['email', 'mail', 'phone', 'telephone', 'mobile', 'fax', 'address', 'street', 'zip', 'postcode', 'postal code'],
  ...['iban', 'bic', 'bank account', 'account number', 'card number', 'credit card', 'salary', 'income', 'wage'],
  ...['birth', 'birthday', 'dob', 'age', 'gender', 'sex', 'religion', 'ethnicity', 'nationality', 'health'],
  ...['first name', 'last name', 'full name', 'given name', 'family name', 'middle name', 'maiden name', 'surname'],
  ...['passport', 'ssn', 'social security', 'national id', 'tax id', 'tax number', 'vat number', 'driver license'],
  ...['ip', 'ip address', 'latitude', 'longitude', 'location', 'avatar', 'photo', 'signature', 'fingerprint'],
].map((name) => ` ${name} `);

// What is said about personal data is none: whether an address was verified, when a mail was sent.
const ABOUT = / (verified|confirmed|valid|enabled|disabled|sent|opened|count|number of|at|required|template|type) $/;
// A yes or no, and the name of a record elsewhere, tell nothing of a person by themselves.
const IMPERSONAL = new Set<FieldSpec['kind']>(['boolean', 'ref', 'id', 'password']);

/** The words of a field name, each between spaces and in the singular: `homeAddresses` → ` home address `. */
function wordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z]+/);
  const singular = words.filter((word) => word !== '').map((word) => singularize(word.toLowerCase()));
  return ` ${singular.join(' ')} `;
}

/**
 * Whether a field holds personal data: it is marked `pii()`, or named like personal data (`email`, `homeAddress`,
 * `dateOfBirth`). Where it is not marked this is a guess: the OpenAPI document and the privacy report tell of it, the audit trail masks
 * it, an export tells it, and an erasure empties it.
 */
export function isPersonal(name: string, spec: FieldSpec): boolean {
  if (spec.pii) return true;
  // A declaration may be malformed here: its errors are reported later.
  if (spec.inner?.spec !== undefined) return isPersonal(name, spec.inner.spec);
  if (spec.kind === 'email') return true;
  if (IMPERSONAL.has(spec.kind)) return false;
  const words = wordsOf(name);
  if (ABOUT.test(words)) return false;
  if (PERSONAL.some((personal) => words.includes(personal))) return true;
  return Object.entries(spec.shape ?? {}).some(
    ([member, field]) => field?.spec !== undefined && isPersonal(member, field.spec),
  );
}
