import type { CompiledResource } from '../schema/compiled.ts';
import type { Includes } from './list-query.ts';
import { joinNames, queryError, shortenForMessage } from './parameter.ts';

/** Maximum number of paths in one `include`. */
export const MAX_PATHS = 20;
/** Maximum number of references in one path. */
export const MAX_LEVELS = 3;

/** Finds a resource by its name. */
export type ResourceOf = (name: string) => CompiledResource;

interface IncludeTree extends Map<string, IncludeTree> {}

/** The references of a resource that clients may know of: the target resource by field. */
function clientVisibleReferencesOf(resource: CompiledResource): Map<string, string> {
  return new Map(
    resource.fields.flatMap(({ name, secret, target }) => (secret || target === undefined ? [] : [[name, target]])),
  );
}

/**
 * Adds a path to the tree. After its first reference, a path must not return to a resource that the path has already passed:
 * self-references are expanded once.
 */
function addIncludePath(root: CompiledResource, path: string, tree: IncludeTree, resourceOf: ResourceOf): void {
  const includeError = (why: string) => queryError(`Cannot include "${shortenForMessage(path)}"; ${why}`);
  const segments = path.split('.');
  if (segments.length > MAX_LEVELS) throw includeError(`a path has at most ${MAX_LEVELS} references`);
  const passed = new Set([root.name]);
  let [resource, level] = [root, tree];
  for (const [depth, name] of segments.entries()) {
    const known = [...clientVisibleReferencesOf(resource)];
    const allowed = depth === 0 ? known : known.filter(([, target]) => !passed.has(target));
    const target = new Map(allowed).get(name);
    if (target === undefined) {
      const of =
        depth === 0 ? 'references' : `references of "${segments.slice(0, depth).join('.')}" that can be included`;
      throw includeError(`${of}: ${joinNames(allowed.map(([one]) => one))}`);
    }
    passed.add(target);
    resource = resourceOf(target);
    const below = level.get(name) ?? new Map();
    level.set(name, below);
    level = below;
  }
}

/** All paths of at most `maxLevels` references that `include` may contain, the short ones first. */
export function listIncludablePaths(resource: CompiledResource, resourceOf: ResourceOf, maxLevels: number): string[] {
  interface IncludePath {
    path: string;
    end: string;
    passed: readonly string[];
  }
  const extendPath = ({ path, end, passed }: IncludePath): IncludePath[] =>
    [...clientVisibleReferencesOf(resourceOf(end))]
      .filter(([, target]) => path === '' || !passed.includes(target))
      .map(([name, target]) => ({
        path: path === '' ? name : `${path}.${name}`,
        end: target,
        passed: [...passed, target],
      }));
  const levels: IncludePath[][] = [[{ path: '', end: resource.name, passed: [resource.name] }]];
  while (levels.length <= maxLevels) levels.push(levels.at(-1)!.flatMap(extendPath));
  return levels.slice(1).flatMap((ways) => ways.map((way) => way.path));
}

/** Parses `include` into a tree of references: names of reference fields, or paths of them joined by dots. */
export function parseInclude(resource: CompiledResource, text: string, resourceOf: ResourceOf): Includes {
  const paths = new Set(text.split(','));
  if (paths.size > MAX_PATHS) throw queryError(`The query parameter "include" takes at most ${MAX_PATHS} paths`);
  const tree: IncludeTree = new Map();
  for (const path of paths) addIncludePath(resource, path, tree, resourceOf);
  return tree;
}
