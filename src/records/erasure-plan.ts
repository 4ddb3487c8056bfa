import type { AnyField, FieldSpec, Fields } from '../declare/field.ts';
import { snakeCase } from '../declare/naming.ts';
import { isPersonal } from '../declare/personal-data.ts';
import type { AnyResource } from '../declare/resource.ts';
import { ownerFieldOf } from './compile.ts';

/** A field that is emptied when the account of a record's owner is erased. */
export interface EmptiedField {
  name: string;
  column: string;
  spec: FieldSpec;
  /** What stands there instead: the default of a required field, else null. */
  emptied: string | number | boolean | null;
}

/** What becomes of a resource's records when the account of their owner is erased. */
export interface ErasurePlan {
  /** Undefined: its records have no owner. */
  ownerField: string | undefined;
  /** Of the owner field: `id` when a record owns itself. */
  ownerColumn: string | undefined;
  action: 'delete' | 'anonymize' | 'keep';
  /** Fields that hold personal data: marked, named like it, or listed in `personalFields`. */
  personal: readonly EmptiedField[];
}

// What a person wrote about themselves is theirs, whatever its name.
const TEXTS = new Set<FieldSpec['kind']>(['string', 'text', 'email', 'url', 'json', 'object', 'date', 'password']);

/** Whether a field holds what a person may have written about themselves. */
export function holdsText({ kind, inner }: FieldSpec): boolean {
  return inner === undefined ? TEXTS.has(kind) : holdsText(inner.spec);
}

function emptied({ required, default: value, encrypted }: FieldSpec): EmptiedField['emptied'] {
  if (!required || encrypted) return null;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/**
 * Reads the options `onOwnerDelete` and `personalFields`. Without the first, records go with their owner.
 *
 * @param isUser of the user resource: there every text is personal
 */
export function erasurePlan(resource: AnyResource, isUser: boolean): ErasurePlan {
  const ownerField = ownerFieldOf(resource);
  const listed = new Set(resource.personalFields);
  const personal = Object.entries(resource.fields as Fields).filter(
    ([name, { spec }]: [string, AnyField]) =>
      name !== ownerField && (listed.has(name) || isPersonal(name, spec) || (isUser && holdsText(spec))),
  );
  return {
    ownerField,
    ownerColumn: ownerField === undefined ? undefined : snakeCase(ownerField),
    action: resource.onOwnerDelete ?? 'delete',
    personal: personal.map(([name, { spec }]) => ({ name, column: snakeCase(name), spec, emptied: emptied(spec) })),
  };
}
