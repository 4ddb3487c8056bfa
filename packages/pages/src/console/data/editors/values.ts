import { toRequestError } from '../../../kit/request.ts';
import { texts } from '../../texts.ts';
import type { FieldInfo, Labels } from '../app-info.ts';
import { fieldValue } from '../schema.ts';
import { findJsonError } from './json-position.ts';
import { isConcealed } from './locks.ts';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The message of an error with its details, which belong to no field of a form. */
export function detailedMessage(error: unknown): string {
  const { message, details } = toRequestError(error);
  return [message, ...Object.values(details)].join(' · ');
}

/** A file, as a record has it and as an upload returns it. */
export interface StoredFile {
  id: string;
  /** Of an upload by a caller who is not signed in. */
  token?: string;
  name?: string;
  type?: string;
  bytes?: number;
  /** In pixels, of an image. */
  width?: number;
  height?: number;
  url?: string;
}

export const isStoredFile = (value: unknown): value is StoredFile => isObject(value) && typeof value.id === 'string';

/** The id of a reference, which may be expanded. */
export function referenceId(value: unknown): string | undefined {
  const id = isObject(value) ? value.id : value;
  return typeof id === 'string' ? id : undefined;
}

/** The label of a record that the server has sent with a reference to it. */
export const findLabel = (labels: Labels | undefined, target = '', id = ''): string | undefined =>
  labels?.[target]?.[id];

/** The value that a form starts with: of a field that is not returned, nothing. */
export const toDraft = (field: FieldInfo, value: unknown): unknown =>
  isConcealed(field) ? undefined : (value ?? null);

/** The number in a text, as JSON needs it. @throws Error */
function toNumber(text: string, type: 'integer' | 'number'): number {
  const trimmed = text.trim();
  const number = Number(trimmed);
  if (trimmed === '' || !Number.isFinite(number)) throw new Error(texts.editors.mustBeNumber);
  if (type === 'integer' && !Number.isInteger(number)) throw new Error(texts.editors.mustBeInteger);
  return number;
}

/** A text of the JSON editor, until it is valid. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** @throws Error with the position */
  parse(): unknown {
    if (this.text.trim() === '') return null;
    try {
      return JSON.parse(this.text, (_name, value) => {
        if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) throw new RangeError();
        return value;
      });
    } catch {
      const { line, column } = findJsonError(this.text);
      throw new Error(texts.editors.invalidJson(line, column));
    }
  }
}

/**
 * Converts the value of an editor to the value that the API takes.
 *
 * @throws Error whose message belongs to the field
 */
export function toInput(field: FieldInfo, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof JsonText) return value.parse();
  switch (field.type) {
    case 'integer':
    case 'number':
      return typeof value === 'number' ? value : toNumber(String(value), field.type);
    case 'array': {
      const { inner } = field;
      return inner && Array.isArray(value) ? value.map((item) => toInput(inner, item)) : value;
    }
    case 'object':
      return isObject(value) ? toObjectInput(field.shape ?? [], value) : value;
    case 'ref':
      return referenceId(value) ?? null;
    case 'file':
      return isStoredFile(value) ? { id: value.id, ...(value.token !== undefined && { token: value.token }) } : value;
    default:
      return value;
  }
}

/** The members of an object that have a value. */
const toObjectInput = (shape: readonly FieldInfo[], value: Record<string, unknown>) =>
  Object.fromEntries(
    shape.flatMap((one) => {
      const member = fieldValue(value, one.name);
      return member === null || member === undefined ? [] : [[one.name, toInput(one, member)]];
    }),
  );
