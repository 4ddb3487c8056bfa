import { isObject, JsonText, toInput, toRequestError } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { InputField, InputForm, ShownValue } from './types.ts';

/** The values of the editors, by field. */
export type Draft = Readonly<Record<string, unknown>>;

/** The input of a job while it is edited. */
export interface InputState {
  isJson: boolean;
  /** Of the form. */
  draft: Draft;
  /** Of the JSON editor. */
  json: unknown;
}

/** Messages by the path of the invalid value, as the server sends them: `input.place.street`. */
export type FieldErrors = Readonly<Record<string, string>>;

const memberOf = (object: Readonly<Record<string, unknown>>, name: string) =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const membersOf = (fields: readonly InputField[], read: (field: InputField) => unknown) =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = read(field);
      return value === undefined ? [] : [[field.name, value] as const];
    }),
  );

/** What a field has before it is edited: a value that is the only one possible, and room for the members of a group. */
function firstValue({ required, type, shape, values }: InputField): unknown {
  if (!required) return undefined;
  if (type === 'object') return membersOf(shape ?? [], firstValue);
  if (type === 'array') return [];
  return type === 'enum' && values?.length === 1 ? values[0] : undefined;
}

/** Converts the value of an editor to JSON; undefined: the member is left out. @throws Error whose message belongs to the field */
function readValue(field: InputField, value: unknown): unknown {
  const { inner, shape, required } = field;
  const empty = field.emptyAsNull ? null : undefined;
  if (value === undefined || value === null || value === '') return empty;
  if (field.type === 'object' && isObject(value)) {
    const members = membersOf(shape ?? [], (member) => readValue(member, memberOf(value, member.name)));
    // A group that was added and not filled in does not count.
    return required || Object.values(members).some((member) => member !== null) ? members : empty;
  }
  if (field.type === 'array' && inner && Array.isArray(value)) {
    // Nor does such an item.
    const items = value.map((item) => readValue(inner, item)).filter((item) => item !== undefined);
    return required || items.length > 0 ? items : empty;
  }
  return toInput(field, value) ?? empty;
}

/** Whether two values of JSON are equal. The order of members does not matter. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => isEqual(item, b[at]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}

/** The draft of the form for an input; undefined if the form would send another input. */
export function toDraft(fields: readonly InputField[], input: unknown): Draft | undefined {
  const draft = input ?? {};
  if (!isObject(draft)) return undefined;
  try {
    const read = membersOf(fields, (field) => readValue(field, memberOf(draft, field.name)));
    return isEqual(read, draft) ? draft : undefined;
  } catch {
    // A value that its field does not take, such as a text for a number.
    return undefined;
  }
}

/** How the editing begins. @param input of another job; undefined: none */
export function beginInput(form: InputForm | null, input: unknown): InputState {
  const fields = form?.fields ?? [];
  const empty = { isJson: form?.fields === null, draft: membersOf(fields, firstValue), json: {} };
  if (input === undefined || form === null) return empty;
  const draft = form.fields === null ? undefined : toDraft(form.fields, input);
  return draft === undefined ? { ...empty, isJson: true, json: input } : { ...empty, draft, json: input };
}

/** The input to send; undefined for none. `errors`: why there is no valid one. */
export function readInput(
  form: InputForm | null,
  { isJson, draft, json }: InputState,
): { input: unknown; errors: FieldErrors } {
  if (form === null) return { input: undefined, errors: {} };
  const errors: Record<string, string> = {};
  const tryRead = (path: string, read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      errors[path] = toRequestError(error).message;
      return undefined;
    }
  };
  if (isJson || form.fields === null) {
    const input = tryRead('input', () => (json instanceof JsonText ? json.parse() : json));
    return { input: input ?? undefined, errors };
  }
  const input = membersOf(form.fields, (field) =>
    tryRead(`input.${field.name}`, () => readValue(field, memberOf(draft, field.name))),
  );
  return { input: form.isOptional && Object.keys(input).length === 0 ? undefined : input, errors };
}

/** The name for people of a value within a field, by its path. */
function labelWithin(field: InputField, [name, ...rest]: readonly string[]): string {
  if (name === undefined) return '';
  const member = field.shape?.find((one) => one.name === name) ?? field.inner;
  const label = field.type === 'array' ? texts.form.item(Number(name) + 1) : (member?.label ?? name);
  const below = member && labelWithin(member, rest);
  return below ? `${label}, ${below}` : label;
}

/** The messages about a field and the values within it; undefined if there are none. */
export function errorOf(field: InputField, errors: FieldErrors): string | undefined {
  const path = `input.${field.name}`;
  const messages = Object.entries(errors).flatMap(([at, message]) => {
    if (at === path) return message;
    return at.startsWith(`${path}.`)
      ? texts.form.within(labelWithin(field, at.slice(path.length + 1).split('.')), message)
      : [];
  });
  return messages.length === 0 ? undefined : messages.join(' · ');
}

const shownValue = (field: InputField | undefined, value: unknown): ShownValue => {
  if (Array.isArray(value)) return { rows: value.map((item) => shownValue(field?.inner, item)) };
  if (isObject(value)) return { rows: shownInput(field?.shape ?? [], value) };
  return {
    value: typeof value === 'number' || typeof value === 'boolean' || value === null ? value : String(value),
    ...(field && { type: field.type }),
  };
};

/** An input with the labels of its fields, and the defaults of those that are left out. */
export function shownInput(fields: readonly InputField[], input: Readonly<Record<string, unknown>>): ShownValue[] {
  const known = fields.flatMap((field): ShownValue[] => {
    const value = memberOf(input, field.name);
    if (value !== undefined) return [{ label: field.label, ...shownValue(field, value) }];
    if (field.default === undefined || field.default === null) return [];
    return [{ label: field.label, ...shownValue(field, field.default), isDefault: true }];
  });
  const others = Object.entries(input).filter(([name]) => !fields.some((field) => field.name === name));
  return [...known, ...others.map(([name, value]) => ({ label: name, ...shownValue(undefined, value) }))];
}
