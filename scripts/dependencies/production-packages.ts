// Finds the packages of package-lock.json that an installation without development dependencies needs, and the dependencies between them.

/** An entry of `packages` in package-lock.json. */
export interface LockedPackage {
  name?: string;
  version: string;
  license?: string;
  integrity?: string;
  /** The package is in the folder `resolved` of this repository. */
  link?: boolean;
  resolved?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

export interface LockFile {
  packages: Record<string, LockedPackage>;
}

/** A package of a production installation. */
export interface ProductionPackage {
  locked: LockedPackage;
  /** Whether npm may leave it out, because only optional dependencies need it. */
  optional: boolean;
  /** The paths in the lock file of the packages that this one needs. */
  needs: string[];
}

/** Returns the path in the lock file of the package that `name` means to the package at `path`; undefined if there is none. */
function resolvePath(packages: LockFile['packages'], path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (folder === '') return undefined;
  }
}

/** Returns the packages that a package needs, and whether it also works without them. Optional peers are left to its user. */
function listNeeds({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: LockedPackage) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [
    ...[...Object.keys(dependencies ?? {}), ...peers].map((name) => ({ name, optional: false })),
    ...Object.keys(optionalDependencies ?? {}).map((name) => ({ name, optional: true })),
  ];
}

/**
 * Returns the packages of a production installation by their path in the lock file, with the root package at ''.
 *
 * npm itself cannot tell: `npm sbom --omit dev` leaves out every package that is also a development dependency of another one.
 *
 * @throws Error if the lock file lacks a package that is not optional
 */
export function listProductionPackages({ packages }: LockFile): Map<string, ProductionPackage> {
  const found = new Map<string, ProductionPackage>();
  const visit = (path: string, optional: boolean) => {
    const known = found.get(path);
    // Visit a package again if it turns out to be required, because then so are the packages that it needs.
    if (known !== undefined && (optional || !known.optional)) return;
    const { link, resolved } = packages[path]!;
    const locked = packages[link ? resolved! : path]!;
    const entry: ProductionPackage = { locked, optional, needs: [] };
    found.set(path, entry);
    for (const need of listNeeds(locked)) {
      const target = resolvePath(packages, path, need.name);
      if (target === undefined && !need.optional)
        throw new Error(
          `package-lock.json lacks ${need.name}, which ${path || 'package.json'} needs. Run: npm install`,
        );
      if (target === undefined) continue;
      entry.needs.push(target);
      visit(target, optional || need.optional);
    }
  };
  visit('', false);
  return found;
}
