import { toWords } from '../../../extension/index.ts';
import type { InputField, ShownStored, ShownValue } from './responses.ts';

/** The limits of what is shown of a stored value, which has up to 64 KB of JSON. */
const MAX_ROWS = 200;
const MAX_TEXT = 1000;
const MAX_JSON = 10_000;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

type Scalar = NonNullable<ShownValue['value']> | null;

/** Converts stored values for people until the limits are reached. */
class ValueReader {
  isCut = false;
  #rows = 0;

  #cutText(text: string, max: number): string {
    if (text.length <= max) return text;
    this.isCut = true;
    return `${text.slice(0, max).toWellFormed()}…`;
  }

  #readScalar(value: Scalar, type: string | undefined): ShownValue {
    if (typeof value !== 'string') return { value };
    const shownType = type ?? (TIMESTAMP.test(value) ? 'date' : undefined);
    return { value: this.#cutText(value, MAX_TEXT), ...(shownType !== undefined && { type: shownType }) };
  }

  /** Members in the order of the form, then the others: Postgres stores them in an order of its own. */
  #readMembers(value: object, fields: readonly InputField[]): ShownValue[] {
    const members = new Map(Object.entries(value));
    const known = fields.filter(({ name }) => members.has(name));
    const others = [...members.keys()].filter((name) => !known.some((field) => field.name === name));
    return [...known.map((field) => [field.name, field] as const), ...others.map((name) => [name, undefined] as const)]
      .filter(() => this.#countRow())
      .map(([name, field]) => ({ label: field?.label ?? toWords(name), ...this.#read(members.get(name), field) }));
  }

  #countRow(): boolean {
    this.#rows++;
    if (this.#rows <= MAX_ROWS) return true;
    this.isCut = true;
    return false;
  }

  #read(value: unknown, field: InputField | undefined): ShownValue {
    if (Array.isArray(value))
      return { rows: value.filter(() => this.#countRow()).map((item) => this.#read(item, field?.inner)) };
    if (typeof value === 'object' && value !== null) return { rows: this.#readMembers(value, field?.shape ?? []) };
    return this.#readScalar(value as Scalar, field?.type);
  }

  read(value: unknown, fields: readonly InputField[]): ShownStored {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const rows = isObject ? this.#readMembers(value, fields) : [this.#read(value, undefined)];
    const json = this.#cutText(JSON.stringify(value, null, 2), MAX_JSON);
    return { rows, json, isCut: this.isCut };
  }
}

/** Returns what is shown of a stored input or result; null if there is none. @param fields the labels and types of known members */
export function showStored(value: unknown, fields: readonly InputField[] = []): ShownStored | null {
  return value === null ? null : new ValueReader().read(value, fields);
}
