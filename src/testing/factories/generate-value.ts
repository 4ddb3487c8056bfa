import type { FieldSpec, Fields } from '../../declare/field.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { generateMatchingText } from './matching-text.ts';

/** The password of users that tests create without one. Strong enough for the password rules. */
const TEST_PASSWORD = 'a bell rings at noon';

/** What a generated value depends on besides its field. */
export interface GenerationContext {
  /** A number that is different for each record. */
  sequence: number;
  /** Creates a record of a resource and returns its id. */
  createTarget(resource: string): Promise<string>;
}

/** Thrown if no value can be generated for a field. The message is the reason. */
export class CannotGenerateError extends Error {}

const bound = (value: { value: unknown } | undefined, fallback: number): number =>
  value === undefined ? fallback : Number(value.value);

/** A readable text with the length that the field requires. It ends with the number of the record, so that it is unique. */
function generateText(name: string, spec: FieldSpec, sequence: number): string {
  const min = bound(spec.min, 0);
  const max = bound(spec.max, Number.POSITIVE_INFINITY);
  if (spec.pattern !== undefined) {
    const isAccepted = (text: string) => text.length >= Math.max(min, 1) && text.length <= max;
    const text = generateMatchingText(spec.pattern.regex, sequence, isAccepted);
    if (text === undefined) throw new CannotGenerateError(`no text was found that matches ${spec.pattern.regex}`);
    return text;
  }
  const suffix = `${sequence}`;
  if (max < suffix.length) return suffix.slice(-Math.max(max, 1));
  const whole = `${name} ${suffix}`;
  if (whole.length > max)
    return (
      whole
        .slice(0, max - suffix.length)
        .trimEnd()
        .padEnd(max - suffix.length, '-') + suffix
    );
  return whole.length >= min ? whole : `${name} ${'x'.repeat(min - whole.length - 1)} ${suffix}`.padEnd(min, 'x');
}

/** A number within the bounds; different for each record if the field is unique. */
function generateNumber(spec: FieldSpec, sequence: number, isWhole: boolean): number {
  const max = bound(spec.max, Number.POSITIVE_INFINITY);
  const min = bound(spec.min, Math.min(1, max));
  const start = isWhole ? Math.ceil(min) : min;
  const value = spec.unique ? start + sequence : start;
  if (value > max) throw new CannotGenerateError(`the values from ${min} to ${max} are used up`);
  return value;
}

/** A number as a decimal text, so that large bounds stay exact. */
function generateDecimal(spec: FieldSpec, sequence: number): string {
  if (spec.unique) return String(generateNumber(spec, sequence, true));
  const { min, max } = spec;
  if (min !== undefined) return String(min.value);
  return max !== undefined && Number(max.value) < 1 ? String(max.value) : '1';
}

/** The current time, or the closest time within the bounds. */
function generateDate(spec: FieldSpec, sequence: number): string {
  const [min, max] = [spec.min, spec.max].map((limit) => limit && new Date(limit.value as string | number).getTime());
  const start = Math.min(Math.max(Date.now(), min ?? Number.NEGATIVE_INFINITY), max ?? Number.POSITIVE_INFINITY);
  // A date at its maximum has no room above it.
  return new Date(spec.unique ? start + (start === max ? -sequence : sequence) : start).toISOString();
}

async function generateItems(name: string, spec: FieldSpec, context: GenerationContext): Promise<unknown[]> {
  const items: unknown[] = [];
  // A required array must not be empty in most declarations that say so with min().
  for (let i = 0; i < bound(spec.min, 0); i++) items.push(await generateValue(name, spec.inner!.spec, context));
  return items;
}

/** Whether a record without a value for the field would be refused. */
function needsValue({ required, owner, ...spec }: FieldSpec): boolean {
  return required === true && owner !== true && !('default' in spec);
}

/** Values for the required fields of an object or a record that are not in `given`. */
export async function generateMissingValues(
  fields: Fields,
  given: Readonly<Record<string, unknown>>,
  context: GenerationContext,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, { spec }] of Object.entries(fields)) {
    if (name in given || !needsValue(spec)) continue;
    try {
      values[name] = await generateValue(name, spec, context);
    } catch (error) {
      if (!(error instanceof CannotGenerateError)) throw error;
      throw new CannotGenerateError(`field "${name}": ${error.message}`);
    }
  }
  return values;
}

async function generateJson({ content }: FieldSpec): Promise<unknown> {
  const result = await content?.['~standard'].validate({});
  if (result?.issues !== undefined)
    throw new CannotGenerateError('its schema does not accept {}; give the field an example(), or pass a value');
  return {};
}

/**
 * Generates a valid value for a field, from its type and modifiers. Rules in code (`check`, `schema`) are not considered.
 *
 * @throws CannotGenerateError if there is no way to generate one
 */
async function generateValue(name: string, spec: FieldSpec, context: GenerationContext): Promise<unknown> {
  const { sequence } = context;
  if (spec.example !== undefined && !spec.unique) return structuredClone(spec.example);
  switch (spec.type.kind) {
    case 'string':
    case 'text':
      return generateText(name, spec, sequence);
    case 'email':
      return `${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}-${sequence}@example.com`;
    case 'url':
      return `https://example.com/${encodeURIComponent(name)}/${sequence}`;
    case 'password':
      return TEST_PASSWORD;
    case 'number':
      return generateNumber(spec, sequence, false);
    case 'integer':
      return generateNumber(spec, sequence, true);
    case 'decimal':
      return generateDecimal(spec, sequence);
    case 'boolean':
      return false;
    case 'date':
      return generateDate(spec, sequence);
    case 'enum':
      return spec.values![spec.unique ? sequence % spec.values!.length : 0];
    case 'id':
      return newId();
    case 'ref':
      return context.createTarget(spec.target!);
    case 'array':
      return generateItems(name, spec, context);
    case 'object':
      return generateMissingValues(spec.shape!, {}, context);
    case 'json':
      return generateJson(spec);
    case 'file':
      throw new CannotGenerateError('a file must be stored first: pass the result of app.files.store');
    default:
      throw new CannotGenerateError(`its type "${spec.type.kind}" is not a built-in type`);
  }
}
