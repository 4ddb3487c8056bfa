import semver from 'semver';
import type { Extension } from '../declare/extension.ts';
import { VERSION } from './version.ts';

function formMistakes({ name, setup, requires }: Extension): string[] {
  const faults: string[] = [];
  if (typeof name !== 'string' || name === '' || typeof setup !== 'function')
    faults.push(`extension "${name}": it needs a name and a function setup(host)`);
  if (requires === undefined) return faults;
  if (semver.validRange(requires) === null)
    faults.push(`extension "${name}": requires: "${requires}" is not a range of versions, like ">=${VERSION}"`);
  // A pre-release of the version that is asked for has what it needs, as far as anybody can tell.
  else if (!semver.satisfies(VERSION, requires, { includePrerelease: true }))
    faults.push(`extension "${name}" needs Belfry ${requires}; this is ${VERSION}`);
  return faults;
}

/** What is wrong with the extensions of an app before any is set up, a line each. */
export function extensionMistakes(extensions: readonly Extension[]): string[] {
  const names = extensions.map((extension) => extension.name);
  return [
    ...extensions.flatMap(formMistakes),
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `extension "${name}" is installed twice`),
    ...extensions.flatMap((extension) => extension.mistakes?.() ?? []),
  ];
}
