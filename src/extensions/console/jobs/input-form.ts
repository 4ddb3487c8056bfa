import { type DeclaredJob, toWords } from '../../../extension/index.ts';
import { isZodSchema, type JsonSchema, toJsonSchema } from '../../../platform/helpers/json-schema.ts';
import type { FieldInfo } from '../data/responses.ts';
import type { InputField, InputForm } from './responses.ts';

/** A text that may be longer than this gets a field of several lines. */
const LONG_TEXT = 200;
/** How deeply groups and lists are nested in a form. What is deeper is edited as JSON. */
const MAX_DEPTH = 4;

type PartialSchema = JsonSchema | boolean;
type FieldType = Pick<InputField, 'type' | 'inner' | 'shape'> &
  Partial<Pick<FieldInfo, 'values' | 'min' | 'max' | 'pattern'>>;

/** The types of texts, by their format in JSON Schema. */
const TEXT_TYPES: ReadonlyMap<string | undefined, string> = new Map([
  ['email', 'email'],
  ['uri', 'url'],
  ['uuid', 'id'],
  ['date-time', 'date'],
  ['date', 'day'],
]);

const JSON_TYPE: FieldType = { type: 'json' };

function describeText({ format, minLength, maxLength, pattern }: JsonSchema): FieldType {
  const type = TEXT_TYPES.get(format);
  if (type !== undefined) return { type };
  const isLong = maxLength !== undefined && maxLength > LONG_TEXT;
  return { type: isLong ? 'text' : 'string', ...omitUndefined({ min: minLength, max: maxLength, pattern }) };
}

function describeNumber({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): FieldType {
  if (type !== 'integer') return { type: 'number', ...omitUndefined({ min: minimum, max: maximum }) };
  const min = minimum ?? (typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : undefined);
  const max = maximum ?? (typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : undefined);
  return { type: 'integer', ...omitUndefined({ min, max }) };
}

function omitUndefined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** The texts of which a value is one; undefined if others are allowed. */
function findChoices({ const: only, enum: values, anyOf }: JsonSchema): string[] | undefined {
  if (isText(only)) return [only];
  if (values?.every(isText)) return values;
  const options = anyOf?.map((option) => option.const);
  return options?.every(isText) ? options : undefined;
}

/** Splits `null` from the other values that a schema allows. */
function splitNull(schema: JsonSchema): { schema: JsonSchema; isNullable: boolean } {
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type)) {
    const [first, ...more] = type.filter((one) => one !== 'null');
    if (first !== undefined && more.length === 0)
      return { schema: { ...rest, type: first }, isNullable: type.length > 1 };
  }
  const options = anyOf?.filter((option) => option.type !== 'null') ?? [];
  if (anyOf === undefined || options.length === anyOf.length) return { schema, isNullable: false };
  const [only, ...others] = options;
  const isSingle = only !== undefined && others.length === 0;
  return { schema: isSingle ? { ...only, ...rest } : { ...rest, anyOf: options }, isNullable: true };
}

/** Describes the parts of one schema as fields. */
class FieldDescriber {
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Replaces a reference by the definition that it leads to. */
  #resolve(part: PartialSchema): JsonSchema {
    if (typeof part === 'boolean') return {};
    const { $ref, ...rest } = part;
    if ($ref === undefined) return part;
    const target = $ref === '#' ? this.#root : this.#root.$defs?.[$ref.slice('#/$defs/'.length)];
    return { ...target, ...rest };
  }

  /** Follows references, and splits `null` from the other values. */
  simplify(part: PartialSchema): { schema: JsonSchema; isNullable: boolean } {
    const { schema, isNullable } = splitNull(this.#resolve(part));
    return { schema: this.#resolve(schema), isNullable };
  }

  /** The fields of an object; undefined if it is no object with known members. */
  describeMembers({ type, properties, required = [] }: JsonSchema, depth = 0): InputField[] | undefined {
    if (type !== 'object' || properties === undefined) return undefined;
    return Object.entries(properties).map(([name, part]) =>
      this.#describeField(name, part, { isRequired: required.includes(name), depth }),
    );
  }

  #describeType(schema: JsonSchema, name: string, depth: number): FieldType {
    const values = findChoices(schema);
    if (values !== undefined) return { type: 'enum', values };
    switch (schema.type) {
      case 'string':
        return describeText(schema);
      case 'number':
      case 'integer':
        return describeNumber(schema);
      case 'boolean':
        return { type: 'boolean' };
      case 'array':
        return this.#describeList(schema, name, depth);
      case 'object': {
        const shape = depth < MAX_DEPTH ? this.describeMembers(schema, depth + 1) : undefined;
        return shape === undefined ? JSON_TYPE : { type: 'object', shape };
      }
      default:
        return JSON_TYPE;
    }
  }

  #describeList({ items, prefixItems, minItems, maxItems }: JsonSchema, name: string, depth: number): FieldType {
    if (items === undefined || Array.isArray(items) || prefixItems !== undefined || depth >= MAX_DEPTH)
      return JSON_TYPE;
    const inner = this.#describeField(name, items, { isRequired: true, depth: depth + 1 });
    // A list of lists, or of values of any kind, is clearer as one text.
    if (inner.type === 'array' || inner.type === 'json') return JSON_TYPE;
    return { type: 'array', inner, ...omitUndefined({ min: minItems, max: maxItems }) };
  }

  #describeField(
    name: string,
    part: PartialSchema,
    { isRequired, depth }: { isRequired: boolean; depth: number },
  ): InputField {
    const { schema, isNullable } = this.simplify(part);
    return {
      name,
      label: schema.title ?? toWords(name),
      required: isRequired && !isNullable,
      operators: [],
      clientOperators: [],
      ...(isRequired && isNullable && { emptyAsNull: true }),
      ...omitUndefined({ description: schema.description, default: schema.default }),
      ...this.#describeType(schema, name, depth),
    };
  }
}

/** Converts the schema of an input; undefined if that is not possible. */
function convert(schema: NonNullable<DeclaredJob['input']>): JsonSchema | undefined {
  try {
    return toJsonSchema(schema, 'input', (part, json) => {
      // JSON has no times, so a schema such as `z.coerce.date()` gets them as texts.
      if (part._zod.def.type === 'date') Object.assign(json, { type: 'string', format: 'date-time' });
    });
  } catch {
    // zod refuses, for example, two parts with the same id. The schema still checks inputs.
    return undefined;
  }
}

/** Describes the form for the input of a job; null if the job has no input. */
export function describeInputForm({ input }: DeclaredJob): InputForm | null {
  if (input === undefined) return null;
  const isOptional = isZodSchema(input) && input._zod.optin === 'optional';
  const root = convert(input);
  if (root === undefined) return { fields: null, isOptional };
  const describer = new FieldDescriber(root);
  return { fields: describer.describeMembers(describer.simplify(root).schema) ?? null, isOptional };
}
