import type { Fields } from '../../declare/field.ts';
import { snakeCase } from '../../declare/naming.ts';
import { type AnyResource, formerNames } from '../../declare/resource.ts';
import { primaryKeyName } from '../../platform/data/postgres/identifiers.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { archiveRelationNames } from '../schema/table-names.ts';
import { checkConstraints } from './constraint-errors.ts';
import { checkOptionTypes, type ExtensionOptions } from './declaration-shape.ts';
import { checkFields } from './field-names.ts';
import { checkOptions, pathAndTableOf } from './option-errors.ts';
import { createSlowPatternCheck } from './patterns/slow-pattern.ts';
import { checkOwnerField, checkPolicies } from './policy-errors.ts';
import { checkRelations } from './relation-errors.ts';
import { checkRoleField, declaredPolicyWords } from './roles.ts';
import { checkCustomRoutes } from './route-errors.ts';

/** Checks `renamedFrom` of a resource and its fields. */
function checkRenames(resource: AnyResource, errors: ConfigErrors): void {
  if (formerNames(resource).some((name) => typeof name !== 'string' || name === ''))
    errors.at('renamedFrom').report('must be a name or a list of names');
  const claimed = new Map<string, string>();
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    const { renamedFrom } = field.spec;
    if (renamedFrom === undefined) continue;
    const at = errors.at(`field "${name}"`);
    if (renamedFrom.length === 0) at.report(`renamedFrom() needs the former name of the field`);
    for (const earlier of renamedFrom) {
      if (earlier === name) at.report(`renamedFrom("${earlier}") names the field itself; remove it`);
      const other = claimed.get(snakeCase(earlier));
      if (other !== undefined && other !== name) at.report(`"${other}" is also renamed from "${earlier}"; keep one`);
      claimed.set(snakeCase(earlier), name);
    }
  }
}

/** The path without its last segment: the route `/posts/:id` of single records matches every path one segment below `/posts`. */
function parentPathOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Returns the collector for configuration errors of a resource. */
type ResourceErrors = (resource: AnyResource) => ConfigErrors;

/** Reports names, paths and tables that two resources share. */
function checkDuplicateNamesAndPaths(resources: readonly AnyResource[], at: ResourceErrors): void {
  const paths = new Map(resources.map((resource) => [pathAndTableOf(resource).path, resource.name]));
  const keys = new Map(resources.map((resource) => [primaryKeyName(pathAndTableOf(resource).table), resource.name]));
  const seen = { name: new Set<string>(), path: new Set<string>(), table: new Set<string>() };
  for (const resource of resources) {
    const errors = at(resource);
    const places = { name: resource.name, ...pathAndTableOf(resource) };
    for (const kind of ['name', 'path', 'table'] as const) {
      if (seen[kind].has(places[kind])) errors.report(`${kind} "${places[kind]}" is declared twice`);
      seen[kind].add(places[kind]);
    }
    const keyOwner = keys.get(places.table);
    if (keyOwner !== undefined && keyOwner !== resource.name)
      errors
        .at('collection')
        .report(`"${places.table}" is already the name of the primary key of "${keyOwner}"; choose another collection`);
    const parent = paths.get(parentPathOf(places.path));
    if (parent !== undefined)
      errors.report(`path "${places.path}" would also match single records of "${parent}"; choose another path`);
  }
}

/**
 * Checks the declarations of resources, and reports every error with the resource, the field and the fix.
 *
 * @param known `taken`: the names of tables that belong to no resource, and of the indexes and keys of these tables. `options`: the
 *   resource options that the app's extensions add, with their schemas
 */
export function checkResources(
  resources: readonly AnyResource[],
  known: { taken: ReadonlySet<string>; options: ExtensionOptions },
  errors: ConfigErrors,
): void {
  const at: ResourceErrors = ({ name }) => errors.at(`resource "${name}"`);
  const wellFormed = resources.filter((resource) => checkOptionTypes(resource, known.options, at(resource)));
  const names = new Set(resources.map((resource) => resource.name));
  const words = declaredPolicyWords(wellFormed);
  const isSlow = createSlowPatternCheck();
  const archives = wellFormed
    .filter(({ softDelete }) => softDelete)
    .flatMap((one) => archiveRelationNames(pathAndTableOf(one).table));
  const taken = new Set([...known.taken, ...archives]);
  checkDuplicateNamesAndPaths(wellFormed, at);
  for (const resource of wellFormed) {
    const ofResource = at(resource);
    checkFields(resource, { names, isSlow }, ofResource);
    checkRenames(resource, ofResource);
    checkOwnerField(resource, ofResource);
    checkPolicies(resource, words, ofResource);
    checkRelations(resource, wellFormed, ofResource);
    checkRoleField(resource, ofResource);
    checkOptions(resource, taken, ofResource);
    checkConstraints(resource, ofResource);
    checkCustomRoutes(resource, words, ofResource);
  }
}
