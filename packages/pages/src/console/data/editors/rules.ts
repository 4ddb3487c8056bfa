import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';

/** Describes the rules of a field: which policies decide about writing and reading it. */
export function fieldNotes(field: FieldInfo): string[] {
  const { notes } = texts.editors;
  return [
    field.owner && (field.required ? notes.requiredOwner : notes.owner),
    field.tenant && notes.tenant,
    field.readOnly && notes.readOnly,
    field.hidden && notes.hidden,
    field.writeOnly && notes.writeOnly,
    field.encrypted && notes.encrypted,
    field.visibleTo && notes.visibleTo(field.visibleTo),
    field.writableBy && notes.writableBy(field.writableBy),
    field.immutable && notes.immutable,
    field.unique && notes.unique,
    field.pii && notes.pii,
    field.deprecated && notes.deprecated,
  ].filter((note) => typeof note === 'string');
}
