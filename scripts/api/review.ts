import type { Change } from './change.ts';
import { findUnmentioned } from './changelog.ts';

/** What a review of the public API decides. */
export interface Review {
  /** Whether the check passes, or the files may be written. */
  passes: boolean;
  /** What to print: the changes, and what to do next. Empty if there is nothing to say. */
  text: string;
}

/** Lines of a change that are printed. */
const MAX_LINES = 40;
/** Names of a change that are printed. */
const MAX_NAMES = 5;

/** Indents the lines of a change after the first one. A change of many lines is shortened: `git diff api/` shows all of them. */
function formatText(text: string): string {
  const lines = text.split('\n');
  const shown =
    lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`] : lines;
  return shown.join('\n      ');
}

function formatChanges(heading: string, changes: readonly Change[]): string[] {
  if (changes.length === 0) return [];
  const lines = changes.map(({ place, text }) => `  ${place}: ${formatText(text)}`);
  return [`${heading} (${changes.length}):`, ...lines, ''];
}

/** Formats changes for a terminal: breaking ones first. */
export function formatAll(changes: readonly Change[]): string {
  const breaking = changes.filter((change) => change.breaking);
  const compatible = changes.filter((change) => !change.breaking);
  return [...formatChanges('Breaking changes', breaking), ...formatChanges('Compatible changes', compatible)].join(
    '\n',
  );
}

function explainEntries(unmentioned: readonly Change[]): string {
  const wanted = unmentioned.map(
    ({ place, names }) =>
      `  ${place}: ${names
        .slice(0, MAX_NAMES)
        .map((name) => `\`${name}\``)
        .join(' or ')}`,
  );
  return [
    'CHANGELOG.md does not mention these breaking changes. Add entries under "Removed" or "Changed" of "Unreleased" that contain:',
    ...new Set(wanted),
  ].join('\n');
}

/**
 * Reviews the changes of the public API before the check passes.
 *
 * @param isStale whether the files in api/ differ from the API
 */
export function reviewForCheck(changes: readonly Change[], changelog: string, isStale: boolean): Review {
  const unmentioned = findUnmentioned(changes, changelog);
  if (!isStale && unmentioned.length === 0) return { passes: true, text: '' };
  const hasBreaking = changes.some(({ breaking }) => breaking);
  const command = `npm run api -- --write${hasBreaking ? ' --breaking' : ''}`;
  const advice = [
    ...(unmentioned.length > 0 ? [explainEntries(unmentioned)] : []),
    ...(isStale
      ? [`The public API is not what the files in api/ say. If you want these changes, run: ${command}`]
      : []),
  ];
  return { passes: false, text: [formatAll(changes), ...advice].join('\n') };
}

/**
 * Reviews the changes of the public API before they are written.
 *
 * @param allowsBreaking whether the option `--breaking` was given
 */
export function reviewForWrite(changes: readonly Change[], changelog: string, allowsBreaking: boolean): Review {
  const breaking = changes.filter((change) => change.breaking);
  const unmentioned = findUnmentioned(changes, changelog);
  if (breaking.length > 0 && !allowsBreaking) {
    const advice =
      'Nothing was written: some changes are breaking. If they are intended, run: npm run api -- --write --breaking';
    return { passes: false, text: `${formatAll(changes)}\n${advice}` };
  }
  if (unmentioned.length > 0)
    return { passes: false, text: `${formatAll(changes)}\nNothing was written. ${explainEntries(unmentioned)}` };
  return { passes: true, text: formatAll(changes) };
}
