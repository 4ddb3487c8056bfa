import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { StoredRecord } from '../../../declare/host.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { fieldTypeOf } from '../../../records/fields/field-type.ts';
import { erasurePlan } from '../../../records/schema/erasure-plan.ts';

// Hidden fields with such names are secrets, not personal data. Short words match only as whole words: `apiKey`, not `monkey`.
const SECRETS = [
  /(password|passcode|passphrase|token|hash|digest|secret|salt|credential|recovery_?code|backup_?code)s?$/i,
  /((^|_)(key|seed|pin|otp|nonce)|(Key|Seed|Pin|Otp|OTP|Nonce))s?$/,
];
const isSecret = (name: string) => SECRETS.some((secret) => secret.test(name));

/** A field of a resource, from the viewpoint of the user that a record is about. */
export interface ExportedField {
  name: string;
  /** Whether it is exported even if the user may not see it, because it is personal. */
  held: boolean;
  /** Whether responses never contain it. */
  concealed: boolean;
}

/**
 * Returns the fields of a resource that an export can contain. Personal fields are exported even if their owner does not see them in
 * responses. Passwords, and hidden fields with the name of a secret, are not.
 *
 * @param isUser whether it is the user resource, whose text fields are all personal
 */
export function exportedFields(resource: AnyResource, isUser: boolean): ExportedField[] {
  const personal = new Set(erasurePlan(resource, isUser).personal.map(({ name }) => name));
  return Object.entries(resource.fields as Fields).flatMap(([name, { spec }]) => {
    if (fieldTypeOf(spec).concealed) return [];
    const concealed = spec.hidden === true || spec.writeOnly === true;
    const marked = isMarked(resource, name);
    const held = marked || (personal.has(name) && !isSecret(name));
    return [{ name, held, concealed }];
  });
}

/** Converts a record for an export: its id, these fields, and its times. */
export function recordOf(record: StoredRecord, fields: readonly string[], times: boolean): Record<string, unknown> {
  const told: Record<string, unknown> = { id: record.id };
  for (const name of fields) if (record[name] !== undefined) told[name] = record[name];
  if (times) Object.assign(told, { createdAt: record.createdAt, updatedAt: record.updatedAt });
  return told;
}

function hasMark({ pii, inner, shape }: FieldSpec): boolean {
  if (pii || (inner !== undefined && hasMark(inner.spec))) return true;
  return Object.values(shape ?? {}).some((member) => hasMark(member.spec));
}

/** Whether a declaration marks a field, or something in it, as personal: by `pii()` or in `personalFields`. */
export function isMarked({ fields, personalFields = [] }: AnyResource, name: string): boolean {
  return personalFields.includes(name) || hasMark((fields as Fields)[name]!.spec);
}
