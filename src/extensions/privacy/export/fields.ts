import {
  type AnyResource,
  createErasurePlan,
  type FieldSpec,
  type Fields,
  fieldTypeOf,
  type StoredRecord,
} from '../../../extension/index.ts';
import { columnOf } from './read-records.ts';

// Hidden fields with such names are secrets, not personal data. Short words match only as whole words: `apiKey`, not `monkey`.
const SECRET_NAMES = [
  /(password|passcode|passphrase|token|hash|digest|secret|salt|credential|recovery_?code|backup_?code)s?$/i,
  /((^|_)(key|seed|pin|otp|nonce)|(Key|Seed|Pin|Otp|OTP|Nonce))s?$/,
];
const isSecretName = (name: string) => SECRET_NAMES.some((secret) => secret.test(name));

/** A field of a resource that the export of a record's owner can contain. */
export interface ExportedField {
  name: string;
  /** Whether the field is exported even if the user may not see it in responses, because it is personal. */
  isAlwaysExported: boolean;
  /** Whether responses never contain the field: it is `hidden` or `writeOnly`. */
  isConcealed: boolean;
}

/**
 * Returns the fields of a resource that an export can contain. Personal fields are exported even if their owner does not see them in
 * responses. Passwords, and hidden fields with the name of a secret, are never exported.
 *
 * @param isUser whether it is the user resource, whose text fields are all personal
 */
export function listExportedFields(resource: AnyResource, isUser: boolean): ExportedField[] {
  const personal = new Set(createErasurePlan(resource, isUser).personal.map(({ name }) => name));
  return Object.entries(resource.fields as Fields).flatMap(([name, { spec }]) => {
    if (fieldTypeOf(spec).concealed) return [];
    const isConcealed = spec.hidden === true || spec.writeOnly === true;
    const isMarkedPersonal = isDeclaredPersonal(resource, name);
    const isAlwaysExported = isMarkedPersonal || (personal.has(name) && !isSecretName(name));
    return [{ name, isAlwaysExported, isConcealed }];
  });
}

/** Returns the exported part of a record: its id, the named fields and, with `times`, when it was created and updated. */
export function toExportedRecord(
  record: StoredRecord,
  fields: readonly string[],
  times: boolean,
): Record<string, unknown> {
  const exported: Record<string, unknown> = { id: record.id };
  for (const name of fields) if (record[name] !== undefined) exported[name] = record[name];
  if (times) Object.assign(exported, { createdAt: record.createdAt, updatedAt: record.updatedAt });
  return exported;
}

function hasPiiMark({ pii, inner, shape }: FieldSpec): boolean {
  if (pii || (inner !== undefined && hasPiiMark(inner.spec))) return true;
  return Object.values(shape ?? {}).some((member) => hasPiiMark(member.spec));
}

/** Whether a declaration marks a field, or a member of it, as personal: by `pii()` or in `personalFields`. */
function isDeclaredPersonal({ fields, personalFields = [] }: AnyResource, name: string): boolean {
  return personalFields.includes(name) || hasPiiMark((fields as Fields)[name]!.spec);
}

/** A field that refers to users: a reference, or a field that contains references. */
interface ReferringField {
  name: string;
  /** An SQL condition: the field may refer to user $1. */
  where: string;
  /** Whether a value of the field refers to a user. */
  refersTo(value: unknown, userId: string): boolean;
  /** Whether the declaration marks the field as personal. */
  isMarkedPersonal: boolean;
}

type ReferenceTest = ReferringField['refersTo'];

/** Returns a function that tests whether a value of the field refers to a user; undefined if the field cannot refer to users. */
function createReferenceTest({ target, inner, shape }: FieldSpec): ReferenceTest | undefined {
  if (target === 'user') return (value, userId) => value === userId;
  if (inner !== undefined) {
    const find = createReferenceTest(inner.spec);
    return find && ((value, userId) => Array.isArray(value) && value.some((item) => find(item, userId)));
  }
  const members = Object.entries(shape ?? {}).flatMap(([member, { spec }]): [string, ReferenceTest][] => {
    const find = createReferenceTest(spec);
    return find === undefined ? [] : [[member, find]];
  });
  if (members.length === 0) return undefined;
  return (value, userId) =>
    typeof value === 'object' &&
    value !== null &&
    members.some(([member, find]) => find((value as Record<string, unknown>)[member], userId));
}

function referenceConditionSql(name: string, { target, inner, encrypted }: FieldSpec): string {
  const column = columnOf(name);
  // SQL cannot search ciphertexts, so this matches every record with a value. `refersTo` tests the value after decryption.
  if (encrypted) return `(${column} is not null and $1::text is not null)`;
  if (target === 'user') return `${column} = $1`;
  if (inner?.spec.target === 'user') return `${column} @> array[$1]::text[]`;
  return `strpos(${column}::text, $1) > 0`;
}

/**
 * Returns the fields through which records of other users refer to a user.
 *
 * @param owner the owner field, which is left out
 */
export function listReferringFields(declaration: AnyResource, owner: string | undefined): ReferringField[] {
  return Object.entries(declaration.fields as Fields).flatMap(([name, { spec }]): ReferringField[] => {
    const refersTo = name === owner ? undefined : createReferenceTest(spec);
    if (refersTo === undefined) return [];
    return [
      {
        name,
        where: referenceConditionSql(name, spec),
        refersTo,
        isMarkedPersonal: isDeclaredPersonal(declaration, name),
      },
    ];
  });
}
