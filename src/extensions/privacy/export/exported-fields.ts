import type { FieldSpec, Fields } from '../../../declare/field.ts';
import type { StoredRecord } from '../../../declare/host.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { fieldTypeOf } from '../../../records/fields/field-type.ts';
import { erasurePlan } from '../../../records/schema/erasure-plan.ts';

// What a project hides and calls so is a secret, and tells nothing of a person. Short words count as whole ones: `apiKey`, not `monkey`.
const SECRETS = [
  /(password|passcode|passphrase|token|hash|digest|secret|salt|credential|recovery_?code|backup_?code)s?$/i,
  /((^|_)(key|seed|pin|otp|nonce)|(Key|Seed|Pin|Otp|OTP|Nonce))s?$/,
];
const isSecret = (name: string) => SECRETS.some((secret) => secret.test(name));

/** A field of a resource, to those that a record is about. */
export interface ExportedField {
  name: string;
  /** Whether it is told whoever may see it: it is personal. */
  held: boolean;
  /** Whether answers never have it. */
  concealed: boolean;
}

/**
 * The fields of a resource that an export can tell. What is personal is told though its owner does not see it in answers; passwords,
 * and what is hidden and called a secret, are not.
 *
 * @param isUser of the user resource: there every text is personal
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

/** A record as an export tells it: its id, these fields, its times. */
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

/** Whether a declaration says that a field, or something in it, is personal: by `pii()`, or in `personalFields`. */
export function isMarked({ fields, personalFields = [] }: AnyResource, name: string): boolean {
  return personalFields.includes(name) || hasMark((fields as Fields)[name]!.spec);
}
