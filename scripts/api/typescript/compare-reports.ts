import { diff } from 'node:util';
import { type Change, createReporter } from '../change.ts';
import type { ApiReport } from './report-text.ts';

interface Declaration {
  isExported: boolean;
  /** The code without `export`. */
  text: string;
}

/** The declarations of a report by name. */
function declarationsOf({ exported, reachable }: ApiReport): Map<string, Declaration> {
  const declarations = new Map<string, Declaration>();
  for (const [name, text] of exported)
    declarations.set(name, { isExported: true, text: text.replaceAll(/^export /gm, '') });
  for (const [name, text] of reachable)
    if (!declarations.has(name)) declarations.set(name, { isExported: false, text });
  return declarations;
}

/** Whether code contains an identifier. */
function refersTo(code: string, name: string): boolean {
  return new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$&')}(?![\\w$])`).test(code);
}

/**
 * Returns the name of a declaration and, if it is not exported, the exported declarations that refer to it: users know the type `Queues`
 * only as a part of `Host`.
 */
function namesOf(name: string, declarations: ReadonlyMap<string, Declaration>): string[] {
  const names = new Set([name]);
  for (const each of names) {
    if (declarations.get(each)?.isExported) continue;
    for (const [other, { text }] of declarations) if (refersTo(text, each)) names.add(other);
  }
  return [...names].filter((each) => each === name || declarations.get(each)?.isExported);
}

/** Returns the lines that differ, with `-` and `+`, in the order of the text. */
function changedLines(before: string, after: string): string[] {
  return diff(before.split('\n'), after.split('\n')).flatMap(([operation, line]) => {
    if (operation === 0) return [];
    return `${operation === 1 ? '-' : '+'} ${line}`;
  });
}

/** Whether removed lines are only notes: `// @deprecated`. */
const isComment = (line: string) => /^[-+]\s*\/\//.test(line);

/**
 * Compares two versions of the TypeScript API of an entry point. It compares lines, because only a reviewer can decide whether code
 * that compiled still compiles: a removed or changed line of a declaration counts as breaking, a new line or declaration does not. If a
 * declaration that is not exported disappears, the declarations that referred to it have changed, and these changes count.
 */
export function compareReports(entryPoint: string, before: ApiReport, after: ApiReport): Change[] {
  const changes: Change[] = [];
  const [old, current] = [declarationsOf(before), declarationsOf(after)];
  for (const name of new Set([...old.keys(), ...current.keys()])) {
    const report = createReporter(changes, `${entryPoint}: ${name}`, namesOf(name, old.has(name) ? old : current));
    const [was, is] = [old.get(name), current.get(name)];
    if (was === undefined) report.compatible(is!.isExported ? 'new export' : 'new, not exported');
    else if (is === undefined && was.isExported) report.breaking('removed');
    else if (is === undefined) report.compatible('no longer used');
    else {
      if (was.isExported && !is.isExported) report.breaking('no longer exported');
      if (!was.isExported && is.isExported) report.compatible('exported');
      const lines = changedLines(was.text, is.text);
      const text = ['changed', ...lines].join('\n');
      const removed = lines.filter((line) => line.startsWith('-') && !isComment(line));
      // If a type was renamed, every declaration that refers to it has changed: the entry about the type is enough.
      const renamed = [...old.keys()].filter((each) => !current.has(each) && refersTo(removed.join('\n'), each));
      if (removed.length > 0) report.breaking(text, ...renamed);
      else if (lines.length > 0) report.compatible(text);
    }
  }
  return changes;
}
