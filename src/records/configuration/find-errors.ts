import type { AnyResource } from '../../declare/resource.ts';
import { primaryKeyName } from '../../platform/postgres/identifiers.ts';
import { archiveNames } from '../store/archive-table.ts';
import { shapeMistakes } from './declaration-shape.ts';
import { fieldsMistakes } from './field-names.ts';
import { optionMistakes, placesOf } from './option-errors.ts';
import { ownerMistakes, policyMistakes } from './policy-errors.ts';
import { renameMistakes } from './rename-errors.ts';
import { knownRoles, roleFieldMistakes } from './roles.ts';
import { customRouteMistakes } from './route-errors.ts';
import { createSlowPattern } from './slow-pattern.ts';

/** A path at which a resource answers with one record: `/posts/:id` is every path one segment below `/posts`. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Names, paths and tables that two resources claim. */
function clashes(resources: readonly AnyResource[], fault: (resource: AnyResource, text: string) => void): void {
  const paths = new Map(resources.map((resource) => [placesOf(resource).path, resource.name]));
  const keys = new Map(resources.map((resource) => [primaryKeyName(placesOf(resource).table), resource.name]));
  const seen = { name: new Set<string>(), path: new Set<string>(), table: new Set<string>() };
  for (const resource of resources) {
    const places = { name: resource.name, ...placesOf(resource) };
    for (const kind of ['name', 'path', 'table'] as const) {
      if (seen[kind].has(places[kind])) fault(resource, `${kind} "${places[kind]}" is declared twice`);
      seen[kind].add(places[kind]);
    }
    const keyOf = keys.get(places.table);
    if (keyOf !== undefined && keyOf !== resource.name)
      fault(resource, `collection: "${places.table}" is the primary key of "${keyOf}"; set collection to another name`);
    const parent = paths.get(parentOf(places.path));
    if (parent !== undefined)
      fault(
        resource,
        `path "${places.path}" is one record of "${parent}", whose path is above it; set path to another`,
      );
  }
}

/**
 * Every mistake in a set of declarations, a line each, naming the resource, the field and the mend.
 *
 * @param known `taken`: names that the tables which are not resources' have in the schema, their indexes and keys included.
 *   `extended`: options of resources that the extensions of the app give a meaning to
 */
export function findMistakes(
  resources: readonly AnyResource[],
  known: { taken: ReadonlySet<string>; extended: ReadonlySet<string> },
): string[] {
  const mistakes: string[] = [];
  const faultOf = (resource: AnyResource) => (text: string) => mistakes.push(`resource "${resource.name}": ${text}`);
  const whole = resources.filter((resource) => shapeMistakes(resource, faultOf(resource)));
  const names = new Set(resources.map((resource) => resource.name));
  const roles = knownRoles(whole);
  const isSlow = createSlowPattern();
  const archives = whole.filter(({ softDelete }) => softDelete).flatMap((one) => archiveNames(placesOf(one).table));
  const taken = new Set([...known.taken, ...archives]);
  clashes(whole, (resource, text) => faultOf(resource)(text));
  for (const resource of whole) {
    const fault = faultOf(resource);
    fieldsMistakes(resource, { names, isSlow }, fault);
    renameMistakes(resource, fault);
    ownerMistakes(resource, fault);
    policyMistakes(resource, roles, fault);
    roleFieldMistakes(resource, fault);
    optionMistakes(resource, { taken, extended: known.extended }, fault);
    customRouteMistakes(resource, roles, fault);
  }
  return mistakes;
}
