import { isDeepStrictEqual } from 'node:util';
import { asList, type Json } from '../json.ts';

/** How the set of valid values changed; `other`: it cannot be judged. */
export type Effect = 'narrower' | 'wider' | 'other';

/** A changed keyword of a schema. */
export interface Difference {
  effect: Effect;
  text: string;
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];
const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const ADDED_OR_REMOVED = ['pattern', 'format', 'uniqueItems', 'multipleOf'];

/** Keywords that `compareLimits` compares. */
export const LIMITS = ['type', 'enum', 'const', ...LOWER_BOUNDS, ...UPPER_BOUNDS, ...ADDED_OR_REMOVED];

const show = (value: unknown) => JSON.stringify(value);
const showAll = (values: readonly unknown[]) => values.map(show).join(', ');

/** The values of `enum` or `const`; undefined if the schema has neither. */
function valuesOf(schema: Json): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  return schema.enum === undefined ? undefined : asList(schema.enum);
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** The types that a schema allows; all if it limits none. */
function typesOf(schema: Json): readonly string[] {
  if (schema.type !== undefined) return asList([schema.type].flat()) as string[];
  return valuesOf(schema)?.map(typeOfValue) ?? TYPES;
}

/** The types of a list that another list does not allow. An integer is also a number. */
function typesOutside(types: readonly string[], allowed: readonly string[]): string[] {
  return types.filter((type) => !allowed.includes(type) && !(type === 'integer' && allowed.includes('number')));
}

function compareTypes(before: Json, after: Json): Difference[] {
  const [old, current] = [typesOf(before), typesOf(after)];
  const [removed, added] = [typesOutside(old, current), typesOutside(current, old)];
  if (removed.length === 0 && added.length === 0) return [];
  const text = `type changed from ${describeTypes(old)} to ${describeTypes(current)}`;
  if (removed.length > 0 && added.length > 0) return [{ effect: 'other', text }];
  return [{ effect: removed.length > 0 ? 'narrower' : 'wider', text }];
}

function describeTypes(types: readonly string[]): string {
  return types.length >= TYPES.length ? 'any' : [...new Set(types)].join(' | ');
}

function compareValues(before: Json, after: Json): Difference[] {
  const [old, current] = [valuesOf(before), valuesOf(after)];
  if (old === undefined && current === undefined) return [];
  if (old === undefined) return [{ effect: 'narrower', text: `only these values are left: ${showAll(current!)}` }];
  if (current === undefined) return [{ effect: 'wider', text: `no longer limited to the values ${showAll(old)}` }];
  const without = (values: readonly unknown[], others: readonly unknown[]) =>
    values.filter((value) => !others.some((other) => isDeepStrictEqual(value, other)));
  const [removed, added] = [without(old, current), without(current, old)];
  return [
    ...(removed.length > 0 ? [{ effect: 'narrower' as const, text: `removed values: ${showAll(removed)}` }] : []),
    ...(added.length > 0 ? [{ effect: 'wider' as const, text: `new values: ${showAll(added)}` }] : []),
  ];
}

function describeKeyword(name: string, before: unknown, after: unknown): string {
  if (before === undefined) return `${name} ${show(after)} added`;
  if (after === undefined) return `${name} ${show(before)} removed`;
  return `${name} changed from ${show(before)} to ${show(after)}`;
}

function compareBound(name: string, before: Json, after: Json): Difference[] {
  const none = LOWER_BOUNDS.includes(name) ? -Infinity : Infinity;
  const [old, current] = [Number(before[name] ?? none), Number(after[name] ?? none)];
  if (old === current) return [];
  const narrower = LOWER_BOUNDS.includes(name) ? current > old : current < old;
  return [{ effect: narrower ? 'narrower' : 'wider', text: describeKeyword(name, before[name], after[name]) }];
}

/** Compares a keyword that only limits the values: with it there are fewer, and with another value of it there are other ones. */
function compareRestriction(name: string, before: Json, after: Json): Difference[] {
  // `uniqueItems: false` limits nothing.
  const [old, current] = [before[name] || undefined, after[name] || undefined];
  if (isDeepStrictEqual(old, current)) return [];
  const effect = old === undefined ? 'narrower' : current === undefined ? 'wider' : 'other';
  return [{ effect, text: describeKeyword(name, old, current) }];
}

/** Compares the keywords of two schemas that limit single values: types, values, bounds, patterns and formats. */
export function compareLimits(before: Json, after: Json): Difference[] {
  return [
    ...compareTypes(before, after),
    ...compareValues(before, after),
    ...[...LOWER_BOUNDS, ...UPPER_BOUNDS].flatMap((name) => compareBound(name, before, after)),
    ...ADDED_OR_REMOVED.flatMap((name) => compareRestriction(name, before, after)),
  ];
}

/** Describes a difference in a keyword that this comparison does not know. */
export function compareUnknownKeyword(name: string, before: Json, after: Json): Difference[] {
  if (isDeepStrictEqual(before[name], after[name])) return [];
  return [{ effect: 'other', text: describeKeyword(name, before[name], after[name]) }];
}
