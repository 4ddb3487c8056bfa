import { isDeepStrictEqual } from 'node:util';
import { asList, asObject, isObject, type Json, resolve } from '../json.ts';

/** Keywords that say nothing about the values that are valid. */
const ANNOTATIONS = ['title', 'description', 'examples', 'example', '$comment', 'externalDocs'];
/** Keywords about how a value is used, which may stand next to a union. */
export const USAGE = ['default', 'readOnly', 'writeOnly', 'deprecated'];

const KEYWORDS_BY_TYPE: Record<string, RegExp> = {
  string: /^(minLength|maxLength|pattern|format)$/,
  number: /^(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)$/,
  integer: /^(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)$/,
  array: /^(items|minItems|maxItems|uniqueItems)$/,
  object: /^(properties|required|additionalProperties|propertyNames|minProperties|maxProperties)$/,
};

/** Whether a keyword is an annotation or an extension (`x-…`). */
export function isAnnotation(name: string): boolean {
  return ANNOTATIONS.includes(name) || name.startsWith('x-');
}

/** Returns the variants of a schema that is nothing but a union (`anyOf` or `oneOf`); undefined for any other schema. */
export function variantsOfUnion(schema: Json): readonly unknown[] | undefined {
  const keywords = Object.keys(schema).filter((name) => !isAnnotation(name) && !USAGE.includes(name));
  const [only] = keywords;
  if (keywords.length !== 1 || (only !== 'anyOf' && only !== 'oneOf')) return undefined;
  return asList(schema[only]).flatMap((variant) => variantsOfUnion(asObject(variant)) ?? [variant]);
}

/** Returns the variants of any schema: those of a union, one for each type of a list of types, or the schema itself. */
export function toVariants(schema: Json): readonly unknown[] {
  const union = variantsOfUnion(schema);
  if (union !== undefined) return union;
  if (!Array.isArray(schema.type)) return [schema];
  return (schema.type as string[]).map((type) => {
    const others = Object.entries(KEYWORDS_BY_TYPE).filter(([each]) => each !== type);
    const ofOthers = (name: string) =>
      others.some(([, names]) => names.test(name)) && !KEYWORDS_BY_TYPE[type]?.test(name);
    return { ...Object.fromEntries(Object.entries(schema).filter(([name]) => !ofOthers(name))), type };
  });
}

/** How similar two variants are: 0 if they have nothing in common. */
function similarity(before: Json, after: Json): number {
  const fixedValue = (property: unknown) => asObject(property).const;
  const [old, current] = [asObject(before.properties), asObject(after.properties)];
  const common = Object.keys(old).filter((name) => Object.hasOwn(current, name));
  const told = common.filter((name) => fixedValue(old[name]) !== undefined && fixedValue(current[name]) !== undefined);
  if (told.some((name) => fixedValue(old[name]) !== fixedValue(current[name]))) return 0;
  if (before.const !== undefined && after.const !== undefined && before.const !== after.const) return 0;
  return (isDeepStrictEqual(before.type, after.type) ? 1 : 0) + common.length + told.length * 100;
}

/** Variants of two versions of a union that belong together, and those without a counterpart. */
export interface PairedVariants {
  pairs: { before: unknown; after: unknown }[];
  removed: unknown[];
  added: unknown[];
}

/**
 * Pairs the variants of two versions of a union: equal ones first, then the most similar ones.
 *
 * @param before the earlier variants, and the document that their references belong to
 */
export function pairVariants(
  before: { variants: readonly unknown[]; document: Json },
  after: { variants: readonly unknown[]; document: Json },
): PairedVariants {
  const removed = [...before.variants];
  const added = [...after.variants];
  const pairs: PairedVariants['pairs'] = [];
  const pair = (old: unknown, current: unknown) => {
    pairs.push({ before: old, after: current });
    removed.splice(removed.indexOf(old), 1);
    added.splice(added.indexOf(current), 1);
  };
  for (const old of before.variants) {
    const equal = added.find((current) => isDeepStrictEqual(old, current));
    if (equal !== undefined) pair(old, equal);
  }
  const content = (variant: unknown, document: Json) => asObject(resolve(variant, document).value);
  const candidates = removed.flatMap((old) =>
    added.map((current) => ({
      old,
      current,
      score: similarity(content(old, before.document), content(current, after.document)),
    })),
  );
  for (const { old, current, score } of candidates.sort((a, b) => b.score - a.score))
    if (score > 0 && removed.includes(old) && added.includes(current)) pair(old, current);
  return { pairs, removed, added };
}

/** Describes a variant in a few words: its name, or its type and fixed values. */
export function describeVariant(variant: unknown): string {
  if (!isObject(variant)) return JSON.stringify(variant);
  if (typeof variant.$ref === 'string') return variant.$ref.split('/').at(-1)!;
  if (variant.const !== undefined) return JSON.stringify(variant.const);
  const type = [variant.type ?? 'any'].flat().join(' | ');
  const properties = Object.keys(asObject(variant.properties));
  return properties.length === 0 ? type : `${type} with ${properties.join(', ')}`;
}
