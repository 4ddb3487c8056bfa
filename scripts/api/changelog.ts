import type { Change } from './change.ts';

/** Returns the lines of a section: those between its heading and the next heading of the same or a higher level. */
function sectionOf(lines: readonly string[], isHeading: (line: string) => boolean): string[] {
  const start = lines.findIndex(isHeading);
  if (start === -1) return [];
  const level = /^#+/.exec(lines[start]!)![0].length;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => (/^#+/.exec(line)?.[0].length ?? Infinity) <= level);
  return end === -1 ? rest : rest.slice(0, end);
}

/** Returns the code (in backticks) of the entries under "Removed" and "Changed" of the section "Unreleased" of a changelog. */
function reviewedCode(changelog: string): string[] {
  const unreleased = sectionOf(changelog.split('\n'), (line) => /^## \[?Unreleased\b/.test(line));
  const entries = ['Removed', 'Changed'].flatMap((title) =>
    sectionOf(unreleased, (line) => line.trim() === `### ${title}`),
  );
  return Array.from(entries.join('\n').matchAll(/`([^`]+)`/g), ([, code]) => code!);
}

/** Whether a text contains a name as a whole: `/api/posts` is not in `/api/posts/{id}`. */
function containsName(text: string, name: string): boolean {
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  return new RegExp(`(?<![\\w/{}-])${escaped}(?![\\w/{}-])`).test(text);
}

/**
 * Returns the breaking changes that the changelog does not mention. An entry under "Removed" or "Changed" of the section "Unreleased"
 * mentions a change if it contains one of the names of the change in backticks.
 */
export function findUnmentioned(changes: readonly Change[], changelog: string): Change[] {
  const code = reviewedCode(changelog);
  return changes.filter(
    ({ breaking, names }) => breaking && !names.some((name) => code.some((text) => containsName(text, name))),
  );
}
