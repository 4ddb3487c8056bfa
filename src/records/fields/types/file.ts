import { z } from 'zod';
import { Field, type FieldSpec } from '../../../declare/field.ts';
import type { FileInput, FileOptions, StoredFile } from '../../../declare/file.ts';
import { variantSchema } from '../../../platform/data/storage/images/variant.ts';
import { canonicalType, KNOWN_TYPES, suggestMediaType } from '../../../platform/data/storage/media-types/names.ts';
import { findUnknownOptions } from '../../../platform/helpers/did-you-mean.ts';
import { findMissingPackage } from '../../../platform/helpers/optional-package.ts';
import { parseSettings } from '../../../platform/helpers/parse-settings.ts';
import { matchesMediaType } from '../../../platform/http/bodies/body-stream.ts';
import type { FieldType } from '../field-type.ts';
import type { JsonSchema } from '../json-schema.ts';
import { JSONB } from './json.ts';

const DEFAULT_MAX_BYTES = 10 * 2 ** 20;
const DEFAULT_MAX_PIXELS = 50_000_000;
/** Postgres and JavaScript can hold larger numbers, but no storage accepts larger objects: 5 TiB. */
const LARGEST_FILE = 5 * 2 ** 40;
const MAX_VARIANTS = 10;
const TYPE_PATTERN = /^(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)$/;
const VARIANT_OPTIONS = Object.keys(variantSchema.def.shape);
const VARIANT_NAME = /^[a-z][A-Za-z0-9]{0,29}$/;

const MESSAGE = 'Must be the id of a file that you have uploaded for this field';

/** The rules of a file field with all defaults filled. */
export interface FileRules {
  maxBytes: number;
  types: readonly string[];
  image: { maxPixels: number; variants: NonNullable<NonNullable<FileOptions['image']>['variants']> } | undefined;
  /** Whether photos keep the place where they were taken. */
  keepLocation: boolean;
}

/** The rules of a field that holds a file or a list of files; undefined for other fields. */
export function findFileRules(spec: FieldSpec): FileRules | undefined {
  const options = spec.file ?? spec.inner?.spec.file;
  if (options === undefined) return undefined;
  const { maxBytes = DEFAULT_MAX_BYTES, types = ['*/*'], image, keepLocation = false } = options;
  const { maxPixels = DEFAULT_MAX_PIXELS, variants = {} } = image ?? {};
  // Malformed options are reported when the resource is declared.
  const names = Array.isArray(types) ? [...new Set(types.map((type) => canonicalType(String(type))))] : types;
  return { maxBytes, types: names, image: image && { maxPixels, variants }, keepLocation };
}

/**
 * A file that has been looked up, in the input of a write. Only code creates it, so a client cannot invent the metadata of a file.
 */
export class ResolvedFile {
  readonly file: StoredFile;

  constructor(file: StoredFile) {
    this.file = file;
  }
}

/** A file that has been looked up, but that the field does not accept. The message says why. */
export class RefusedFile {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

const isCount = (value: unknown, max: number) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max;

function findVariantErrors(variants: NonNullable<NonNullable<FileOptions['image']>['variants']>): string[] {
  const names = Object.keys(variants);
  if (names.length === 0) return [];
  const errors = names.length > MAX_VARIANTS ? [`image.variants must be at most ${MAX_VARIANTS}`] : [];
  for (const name of names) {
    if (!VARIANT_NAME.test(name))
      errors.push(`image.variants includes "${name}"; a name is a letter and up to 29 letters and digits`);
    const { error } = parseSettings(variantSchema, variants[name]);
    for (const issue of error?.issues ?? []) {
      const path = `image.variants.${[name, ...issue.path].join('.')}`;
      if (issue.code === 'unrecognized_keys') errors.push(...findUnknownOptions(issue.keys, VARIANT_OPTIONS, path));
      else errors.push(`${path} ${issue.message}`);
    }
  }
  const missing = findMissingPackage('image.variants', { sharp: '0.35' });
  return missing === undefined ? errors : [...errors, missing];
}

/** The error for a type that no file can have, because the content decides the type. */
function findTypeErrors(type: string): string[] {
  const name = canonicalType(type);
  if (KNOWN_TYPES.has(name) || [...KNOWN_TYPES].some((known) => matchesMediaType(known, [name]))) return [];
  return [
    `types includes "${type}", which no file can have, because Belfry determines the type from the content${suggestMediaType(name)}`,
  ];
}

function findOptionErrors(options: FileOptions): string[] {
  const { maxBytes, types, image, keepLocation } = options;
  const errors = [
    ...findUnknownOptions(Object.keys(options), ['maxBytes', 'types', 'image', 'keepLocation']),
    ...findUnknownOptions(Object.keys(image ?? {}), ['maxPixels', 'variants'], 'image'),
  ];
  if (maxBytes !== undefined && !isCount(maxBytes, LARGEST_FILE))
    errors.push(`maxBytes must be a whole number from 1 to ${LARGEST_FILE}`);
  if (types !== undefined && (!Array.isArray(types) || types.length === 0))
    errors.push('types must be a list of media types, such as ["image/*", "application/pdf"]');
  for (const type of Array.isArray(types) ? types : []) {
    if (!TYPE_PATTERN.test(String(type)))
      errors.push(`types includes "${type}"; write a media type in lower case, such as application/pdf or image/*`);
    else errors.push(...findTypeErrors(type));
  }
  if (keepLocation !== undefined && typeof keepLocation !== 'boolean')
    errors.push('keepLocation must be true or false');
  if (image?.maxPixels !== undefined && !isCount(image.maxPixels, Number.MAX_SAFE_INTEGER))
    errors.push('image.maxPixels must be a whole number of at least 1');
  return [...errors, ...findVariantErrors(image?.variants ?? {})];
}

const ID: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{24}$' };

const OUTPUT_PROPERTIES: Record<string, JsonSchema> = {
  id: ID,
  name: { type: 'string' },
  type: { type: 'string', description: 'The media type, determined from the content.' },
  bytes: { type: 'integer' },
  width: { type: 'integer' },
  height: { type: 'integer' },
  url: { type: 'string', description: 'A URL that serves the file for a few minutes; absent in deleted records.' },
  variants: { type: 'object', additionalProperties: { type: 'string' }, description: 'The URLs of smaller versions.' },
};

/**
 * Files: a client uploads a file, then sets the field to the id of the upload. The column holds the metadata of the file, and reads need no
 * further query.
 */
export const fileType = {
  kind: 'file',
  field: (options: FileOptions = {}): Field<StoredFile, 'optional', FileInput, StoredFile, 'open', 'file' | 'opaque'> =>
    new Field({ type: fileType, file: options }),
  column: JSONB,
  schema: () =>
    z.unknown().transform((value, context): StoredFile => {
      if (value instanceof ResolvedFile) return value.file;
      context.addIssue({ code: 'custom', message: value instanceof RefusedFile ? value.message : MESSAGE });
      return z.NEVER;
    }),
  jsonSchema: (_spec, _inner, direction) =>
    direction === 'output'
      ? { type: 'object', properties: OUTPUT_PROPERTIES, required: ['id', 'name', 'type', 'bytes'] }
      : {
          anyOf: [
            { ...ID, description: 'The id of an upload.' },
            { type: 'object', properties: { id: ID, token: { type: 'string' } }, required: ['id'] },
          ],
        },
  jsonType: 'object',
  // A picture or document in a user record is about that user.
  freeText: true,
  operators: ['exists'],
  comparisons: () => ['exists'],
  modifiers: ['filterable'],
  errors: ({ file = {} }) => findOptionErrors(file),
  toColumn: (value) => JSON.stringify(value),
} satisfies FieldType;
