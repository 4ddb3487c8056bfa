import type { CompiledResource } from '../schema/compiled.ts';
import { clientVisibleReverseRelations, countNameOf, findIncludedRelation } from '../schema/relations.ts';
import type { Includes } from './list-query.ts';
import { joinNames, queryError, shortenForMessage } from './parameter.ts';

/** Maximum number of paths in one `include`. */
export const MAX_PATHS = 20;
/** Maximum number of references in one path. */
export const MAX_LEVELS = 3;

/** Finds a resource by its name. */
export type GetResource = (name: string) => CompiledResource;

interface IncludeTree extends Map<string, IncludeTree> {}

/**
 * What clients may include of a resource: its references, its reverse relations, and the numbers of their records. The target resource by
 * name.
 */
function includableNamesOf(resource: CompiledResource): Map<string, string> {
  const references = resource.fields.flatMap(({ name, secret, target }): [string, string][] =>
    secret || target === undefined ? [] : [[name, target]],
  );
  const reverse = clientVisibleReverseRelations(resource).flatMap(({ name, target }): [string, string][] => [
    [name, target],
    [countNameOf(name), target],
  ]);
  return new Map([...references, ...reverse]);
}

/** Whether a name stands for a number of records, after which a path ends. */
function isCount(resource: CompiledResource, name: string): boolean {
  return findIncludedRelation(resource, name)?.counts === true;
}

/**
 * Adds a path to the tree. After its first reference, a path must not return to a resource that the path has already passed:
 * self-references are expanded once.
 */
function addIncludePath(root: CompiledResource, path: string, tree: IncludeTree, getResource: GetResource): void {
  const includeError = (why: string) => queryError(`Cannot include "${shortenForMessage(path)}"; ${why}`);
  const segments = path.split('.');
  if (segments.length > MAX_LEVELS) throw includeError(`a path has at most ${MAX_LEVELS} references`);
  const passed = new Set([root.name]);
  let [resource, source, level] = [root, root, tree];
  for (const [depth, name] of segments.entries()) {
    const before = depth === 0 ? undefined : segments[depth - 1]!;
    const known = before !== undefined && isCount(source, before) ? [] : [...includableNamesOf(resource)];
    const allowed = depth === 0 ? known : known.filter(([, target]) => !passed.has(target));
    const target = new Map(allowed).get(name);
    if (target === undefined) {
      const kinds = clientVisibleReverseRelations(resource).length > 0 ? 'references and relations' : 'references';
      const of = depth === 0 ? kinds : `${kinds} of "${segments.slice(0, depth).join('.')}" that can be included`;
      throw includeError(`${of}: ${joinNames(allowed.map(([one]) => one))}`);
    }
    passed.add(target);
    source = resource;
    resource = getResource(target);
    const below = level.get(name) ?? new Map();
    level.set(name, below);
    level = below;
  }
}

/** All paths of at most `maxLevels` references that `include` may contain, the short ones first. */
export function listIncludablePaths(resource: CompiledResource, getResource: GetResource, maxLevels: number): string[] {
  interface IncludePath {
    path: string;
    end: string;
    passed: readonly string[];
    /** Whether the path cannot be extended. */
    ends: boolean;
  }
  const extendPath = ({ path, end, passed, ends }: IncludePath): IncludePath[] =>
    [...(ends ? [] : includableNamesOf(getResource(end)))]
      .filter(([, target]) => path === '' || !passed.includes(target))
      .map(([name, target]) => ({
        path: path === '' ? name : `${path}.${name}`,
        end: target,
        passed: [...passed, target],
        ends: isCount(getResource(end), name),
      }));
  const levels: IncludePath[][] = [[{ path: '', end: resource.name, passed: [resource.name], ends: false }]];
  while (levels.length <= maxLevels) levels.push(levels.at(-1)!.flatMap(extendPath));
  return levels.slice(1).flatMap((ways) => ways.map((way) => way.path));
}

/** Parses `include` into a tree: names of references and reverse relations, or paths of them joined by dots. */
export function parseInclude(resource: CompiledResource, text: string, getResource: GetResource): Includes {
  const paths = new Set(text.split(','));
  if (paths.size > MAX_PATHS) throw queryError(`The query parameter "include" takes at most ${MAX_PATHS} paths`);
  const tree: IncludeTree = new Map();
  for (const path of paths) addIncludePath(resource, path, tree, getResource);
  return tree;
}
