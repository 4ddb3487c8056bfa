import { type Change, createReporter } from '../../change.ts';
import { asList, asObject, compareNames, isObject, type Json, resolve } from '../json.ts';
import { compareLimits, compareUnknownKeyword, type Difference, type Effect, LIMITS } from './limits.ts';
import { describeVariant, isAnnotation, pairVariants, toVariants, USAGE, variantsOfUnion } from './variants.ts';

/** `requests`: values that clients send. `responses`: values that the server sends, in responses and to webhook endpoints. */
export type Direction = 'requests' | 'responses';

/** Where a schema is used. */
export interface SchemaPlace {
  direction: Direction;
  place: string;
  names: readonly string[];
  /** The path from the place to the value: `data[].title`; empty for the value itself. */
  path: string;
}

/** Compares two versions of a schema; undefined, like `true`, allows every value. */
export type SchemaComparer = (before: unknown, after: unknown, at: SchemaPlace) => void;

const STRUCTURE = [
  'properties',
  'required',
  'additionalProperties',
  'items',
  'propertyNames',
  'anyOf',
  'oneOf',
  '$ref',
];
const COMPARED = new Set([...LIMITS, ...STRUCTURE, ...USAGE]);

function isBreaking(effect: Effect, direction: Direction): boolean {
  return effect === 'other' || effect === (direction === 'requests' ? 'narrower' : 'wider');
}

/** Appends a property to a path: `data[]` and `title` become `data[].title`. */
function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/**
 * Creates the comparison of the schemas of two documents. A schema with the same name in both is compared once per direction, and its
 * changes have its name as their place.
 *
 * @param changes receives the changes
 */
export function createSchemaComparer(oldDocument: Json, newDocument: Json, changes: Change[]): SchemaComparer {
  const compared = new Set<string>();

  function report(at: SchemaPlace, breaking: boolean, text: string): void {
    const reporter = createReporter(changes, at.place, at.names);
    const sentence = at.path === '' ? text : `${at.path}: ${text}`;
    // The last property of the path is a name of the change, too: an entry of the changelog says `title` rather than `Post`.
    const property = /(?:^|\.)([\w-]+)(?:\[\])*$/.exec(at.path)?.[1];
    if (breaking) reporter.breaking(sentence, ...(property === undefined ? [] : [property]));
    else reporter.compatible(sentence);
  }

  function reportDifferences(differences: readonly Difference[], at: SchemaPlace): void {
    for (const { effect, text } of differences) report(at, isBreaking(effect, at.direction), text);
  }

  function compare(before: unknown, after: unknown, at: SchemaPlace): void {
    const [old, current] = [resolve(before, oldDocument), resolve(after, newDocument)];
    const isNamed = old.pointer !== undefined && old.pointer === current.pointer;
    const name = old.pointer?.split('/').at(-1) ?? '';
    const place = isNamed
      ? { direction: at.direction, place: `schema ${name} in ${at.direction}`, names: [name], path: '' }
      : at;
    if (old.pointer !== undefined || current.pointer !== undefined) {
      // A schema may refer to itself.
      const key = JSON.stringify([place.direction, place.place, before, after]);
      if (compared.has(key)) return;
      compared.add(key);
    }
    compareContent(old.value, current.value, place);
  }

  function compareContent(before: unknown, after: unknown, at: SchemaPlace): void {
    const [old, current] = [asObject(before), asObject(after)];
    if (before === false || after === false) {
      if (before !== false) report(at, isBreaking('narrower', at.direction), 'must be absent');
      if (after !== false) report(at, isBreaking('wider', at.direction), 'may be present');
      return;
    }
    compareUsage(old, current, at);
    if (variantsOfUnion(old) !== undefined || variantsOfUnion(current) !== undefined) {
      compareVariants(toVariants(old), toVariants(current), at);
      return;
    }
    reportDifferences(compareLimits(old, current), at);
    const hasEither = (keyword: string) => old[keyword] !== undefined || current[keyword] !== undefined;
    for (const union of ['anyOf', 'oneOf'].filter(hasEither))
      compareVariants(asList(old[union] ?? [{}]), asList(current[union] ?? [{}]), at);
    compareProperties(old, current, at);
    const paths = { items: `${at.path}[]`, propertyNames: joinPath(at.path, '(names)') };
    for (const [keyword, path] of Object.entries(paths))
      if (hasEither(keyword)) compare(old[keyword], current[keyword], { ...at, path });
    const unknown = Object.keys({ ...old, ...current }).filter((name) => !COMPARED.has(name) && !isAnnotation(name));
    reportDifferences(
      unknown.flatMap((name) => compareUnknownKeyword(name, old, current)),
      at,
    );
  }

  function compareVariants(before: readonly unknown[], after: readonly unknown[], at: SchemaPlace): void {
    const { pairs, removed, added } = pairVariants(
      { variants: before, document: oldDocument },
      { variants: after, document: newDocument },
    );
    for (const pair of pairs) compare(pair.before, pair.after, at);
    const removals = removed.map((variant) => `removed variant: ${describeVariant(variant)}`);
    const additions = added.map((variant) => `new variant: ${describeVariant(variant)}`);
    for (const text of removals) report(at, isBreaking('narrower', at.direction), text);
    for (const text of additions) report(at, isBreaking('wider', at.direction), text);
  }

  function compareProperties(before: Json, after: Json, at: SchemaPlace): void {
    const [old, current] = [asObject(before.properties), asObject(after.properties)];
    const { removed, added, kept } = compareNames(old, current);
    const [oldRequired, newRequired] = [asList(before.required), asList(after.required)];
    const placeOf = (name: string) => ({ ...at, path: joinPath(at.path, name) });
    for (const name of removed) report(placeOf(name), true, 'property removed');
    for (const name of added) {
      const isDemanded = at.direction === 'requests' && newRequired.includes(name);
      report(placeOf(name), isDemanded, isDemanded ? 'new required property' : 'new property');
    }
    for (const name of kept) compare(old[name], current[name], placeOf(name));
    for (const name of new Set([...oldRequired, ...newRequired] as string[])) {
      const [was, is] = [oldRequired.includes(name), newRequired.includes(name)];
      if (was === is || removed.includes(name) || added.includes(name)) continue;
      const text = is ? 'required' : 'no longer required';
      report(placeOf(name), isBreaking(is ? 'narrower' : 'wider', at.direction), text);
    }
    compareAdditionalProperties(before.additionalProperties, after.additionalProperties, at);
  }

  function compareAdditionalProperties(before: unknown, after: unknown, at: SchemaPlace): void {
    const [wereRefused, areRefused] = [before === false, after === false];
    // Clients ignore properties that they do not know.
    if (areRefused && !wereRefused) report(at, at.direction === 'requests', 'other properties are refused');
    else if (wereRefused && !areRefused) report(at, false, 'other properties are allowed');
    else if (isObject(before) || isObject(after)) compare(before, after, { ...at, path: joinPath(at.path, '*') });
  }

  function compareUsage(before: Json, after: Json, at: SchemaPlace): void {
    if (JSON.stringify(before.default) !== JSON.stringify(after.default)) {
      const text = `default changed from ${JSON.stringify(before.default) ?? 'none'} to ${JSON.stringify(after.default) ?? 'none'}`;
      report(at, at.direction === 'requests', text);
    }
    const [keyword, loss] =
      at.direction === 'requests'
        ? (['readOnly', 'can no longer be sent'] as const)
        : (['writeOnly', 'is no longer returned'] as const);
    if (before[keyword] !== true && after[keyword] === true) report(at, true, loss);
    if (before.deprecated !== true && after.deprecated === true) report(at, false, 'deprecated');
  }

  return compare;
}
