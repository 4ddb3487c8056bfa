// The package.json of each package as npm publishes it. Those of the repository refer to the sources.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder of the package that is built for browsers. */
export const PAGES_PACKAGE = 'packages/pages';

/** The folders of the packages that `belfry` depends on. */
export const WORKSPACES = ['packages/client', PAGES_PACKAGE, 'packages/verify-webhook'];

/** The folders of the packages that are compiled. `belfry` is the repository itself. */
export const COMPILED_PACKAGES = ['.', ...WORKSPACES.filter((folder) => folder !== PAGES_PACKAGE)];

/** The folders of all packages. Their versions are always the same. */
export const PACKAGES = ['.', ...WORKSPACES, 'create-belfry'];

/** What a package.json says that this repository uses. */
export interface Manifest {
  name: string;
  version: string;
  files?: string[];
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
  /** Replaces members of the manifest when it is published. */
  publishConfig?: Partial<Manifest>;
}

/**
 * What only apps with push messages to phones or with tracing need, half of what all dependencies take. The app of this repository has both, so they
 * are dependencies here, and optional peer dependencies of the package.
 */
const OPTIONAL_FEATURES = [
  'firebase-admin',
  '@parse/node-apn',
  '@opentelemetry/context-async-hooks',
  '@opentelemetry/core',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
];

/** What only this repository needs. */
const DEVELOPMENT = [
  'scripts',
  'devDependencies',
  'workspaces',
  'overrides',
  'allowScripts',
  'private',
  'publishConfig',
];

/** Reads the package.json of a folder. */
export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/**
 * Makes the dependencies of features optional. In any version, because a range would forbid others to an app that uses such a package for something else;
 * Belfry checks the version when the feature is used.
 */
function withOptionalFeatures(manifest: Manifest): Manifest {
  const { dependencies = {}, peerDependencies, peerDependenciesMeta } = manifest;
  const features = OPTIONAL_FEATURES.filter((name) => name in dependencies);
  if (features.length === 0) return manifest;
  return {
    ...manifest,
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => !features.includes(name))),
    peerDependencies: {
      ...peerDependencies,
      ...Object.fromEntries(features.map((name) => [name, '*'])),
    },
    peerDependenciesMeta: {
      ...peerDependenciesMeta,
      ...Object.fromEntries(features.map((name) => [name, { optional: true }])),
    },
  };
}

/** Returns the package.json of a folder as npm publishes it. */
export function publishedManifest(folder: string): Manifest {
  const manifest = readManifest(folder);
  const published = withOptionalFeatures({ ...manifest, ...manifest.publishConfig });
  return Object.fromEntries(
    Object.entries(published).filter(([name]) => !DEVELOPMENT.includes(name)),
  ) as unknown as Manifest;
}
