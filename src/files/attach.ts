import { isDeepStrictEqual } from 'node:util';
import type { StoredFile } from '../declare/file.ts';
import { validationError } from '../platform/helpers/errors.ts';
import { isId } from '../platform/helpers/ids.ts';
import { type FileRules, findFileRules, RefusedFile, ResolvedFile } from '../records/fields/types/file.ts';
import type { CompiledField, CompiledResource } from '../records/schema/compiled.ts';
import type { RecordFiles } from '../records/writes/files.ts';
import { type FileRow, type FileStore, isRemoved, toStoredFile } from './store/store.ts';
import { findSizeError, findTypeError } from './uploads/content.ts';
import { ownsUpload } from './uploads/upload-rows.ts';
import { presentedTokenHash } from './uploads/uploader.ts';

/** Values by field name. */
type Values = Record<string, unknown>;

const USED = 'Must be an upload that no other record uses';
/** Files in one write: more than any form needs. */
const MAX_FILES = 1000;

/** A file that an input names. */
interface NamedFile {
  id: string;
  tokenHash: string | undefined;
}

/** Returns the file that a value names; undefined for a value of another form. */
function parseNamedFile(value: unknown): NamedFile | undefined {
  if (typeof value === 'string') return isId(value) ? { id: value, tokenHash: undefined } : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { id, token } = value as { id?: unknown; token?: unknown };
  return typeof id === 'string' && isId(id) ? { id, tokenHash: presentedTokenHash(token) } : undefined;
}

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** Checks a file against the rules of a field. Files that code stored have been checked for no field yet. */
function checkRules(row: FileRow, rules: FileRules, field: string): ResolvedFile | RefusedFile {
  const error = findSizeError(row.bytes, rules, field) ?? findTypeError(row.type, rules);
  return error === undefined ? new ResolvedFile(toStoredFile(row)) : new RefusedFile(error);
}

/** Creates the connection of files and records. */
export function createFileReferences(store: FileStore): Pick<RecordFiles, 'resolve' | 'namesFiles' | 'attach'> {
  const listFileFields = (resource: CompiledResource) => resource.fields.filter((field) => field.holdsFiles);

  function sentFileFields(resource: CompiledResource, input: unknown, validated: Values = {}): CompiledField[] {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return [];
    const values = input as Values;
    return listFileFields(resource).filter(
      ({ name }) =>
        Object.hasOwn(values, name) &&
        values[name] !== null &&
        values[name] !== undefined &&
        !(Object.hasOwn(validated, name) && isDeepStrictEqual(validated[name], values[name])),
    );
  }

  return {
    namesFiles: (resource, values) => sentFileFields(resource, values).length > 0,

    async resolve(resource, input, { user, system }, { recordId, validated }) {
      const fields = sentFileFields(resource, input, validated);
      const named = fields.flatMap(({ name }) => itemsOf((input as Values)[name]).slice(0, MAX_FILES));
      const ids = named.flatMap((value) => parseNamedFile(value)?.id ?? []);
      if (ids.length === 0) return input;
      const rows = new Map((await store.find([...new Set(ids)])).map((row) => [row.id, row]));
      const resolveValue = (value: unknown, field: CompiledField): unknown => {
        const file = parseNamedFile(value);
        const row = file && rows.get(file.id);
        if (row === undefined) return value;
        const isForField = row.resource === resource.name && row.field === field.name;
        const isOwn = isForField && recordId !== undefined && row.recordId === recordId && !isRemoved(row);
        const mayUse = system ? row.field === null || isForField : isForField && ownsUpload(row, user, file!.tokenHash);
        const isUsable = isOwn || (row.state === 'pending' && mayUse);
        return isUsable ? checkRules(row, findFileRules(field.spec)!, field.name) : value;
      };
      const resolved = fields.map((field): [string, unknown] => {
        const value = (input as Values)[field.name];
        return [
          field.name,
          Array.isArray(value) ? value.map((one) => resolveValue(one, field)) : resolveValue(value, field),
        ];
      });
      return { ...(input as Values), ...Object.fromEntries(resolved) };
    },

    async attach(resource, recordId, values, transaction) {
      const files = listFileFields(resource).flatMap(({ name }) =>
        itemsOf(values[name] ?? []).map((file) => ({ id: (file as StoredFile).id, field: name })),
      );
      if (files.length === 0) return;
      const attached = new Set(await store.attach({ resource: resource.name, id: recordId }, files, transaction));
      const seen = new Set<string>();
      for (const { id, field } of files) {
        if (!attached.has(id) || seen.has(id)) throw validationError({ [field]: USED });
        seen.add(id);
      }
    },
  };
}
