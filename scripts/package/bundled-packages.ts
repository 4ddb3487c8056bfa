// The licences of packages whose code is in a bundle: every copy must contain them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The packages whose code is in a bundle: their names and versions, and the texts of their licences. */
interface BundledPackages {
  names: string[];
  licences: string[];
}

/**
 * Finds the packages among the files of a bundle.
 *
 * @param inputs paths with `node_modules` in them; the others are ignored
 * @throws Error if a package has no licence
 */
export function readBundledPackages(inputs: readonly string[]): BundledPackages {
  const paths = inputs.map((input) => /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]);
  const folders = [...new Set(paths)].filter((path) => path !== undefined).sort();
  const names = folders.map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    return `${name} ${version}`;
  });
  const licences = folders.map((folder) => readFileSync(join(root, folder, 'LICENSE'), 'utf8').trim());
  return { names, licences: [...new Set(licences)] };
}
