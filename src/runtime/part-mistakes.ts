import type { FeatureParts } from '../declare/extension.ts';

/** The parts that an extension brings. */
interface OfExtension {
  name: string;
  parts: FeatureParts;
}

/** Whether `setup` gave parts. A promise of them would be an extension that brings nothing. */
export function isParts(given: unknown): given is FeatureParts {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && !('then' in given);
}

/**
 * Extensions whose `api` would take the place of what the app has itself, or every object has.
 *
 * @param members what the app has, by name
 */
export function apiMistakes(extensions: readonly OfExtension[], members: object): string[] {
  // Whoever awaits an app would wait for ever on one that has a `then`.
  const isTaken = (name: string) => name in members || name === 'then';
  return extensions
    .filter(({ name, parts }) => parts.api !== undefined && isTaken(name))
    .map(({ name }) => `extension "${name}": its api would stand in place of app.${name}; rename it`);
}

/** Kinds of e-mail that two features make. */
export function mailMistakes(extensions: readonly OfExtension[], core: readonly FeatureParts[]): string[] {
  const makers = new Map<string, string>();
  for (const { mails = {} } of core) for (const kind of Object.keys(mails)) makers.set(kind, 'Belfry');
  const mistakes: string[] = [];
  for (const { name, parts } of extensions) {
    for (const kind of Object.keys(parts.mails ?? {})) {
      const other = makers.get(kind);
      if (other !== undefined)
        mistakes.push(`extension "${name}": mail "${kind}": ${other} makes it already; rename it`);
      makers.set(kind, `extension "${name}"`);
    }
  }
  return mistakes;
}
