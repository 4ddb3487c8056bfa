import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What a reader of a tutorial does: writes code, or runs commands and sees their output. */
export type Step =
  | { code: string; instruction: string; output?: never }
  | { commands: string; instruction: string; output: string | undefined };

/**
 * Reads the steps of a tutorial, in order: its blocks of TypeScript and of shell commands, each with the sentence before it. A block of text
 * is the output of the commands above it.
 */
export function readSteps(page: string): Step[] {
  const steps: Step[] = [];
  for (const [, before, language, block] of page.matchAll(/([\s\S]*?)^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const instruction = before!.trim().split('\n\n').at(-1)!.replaceAll('\n', ' ');
    const previous = steps.at(-1);
    if (language === 'ts') steps.push({ code: block!, instruction });
    else if (language === 'sh') steps.push({ commands: block!, instruction, output: undefined });
    else if (language === 'text' && previous && 'commands' in previous && before!.trim() === '')
      previous.output = block!;
    else throw new Error(`The tutorial has a block that nobody carries out, after "${instruction}"`);
  }
  return steps;
}

/** Returns the position of the only line that begins with a name and a colon. */
function findLineOf(name: string, lines: readonly string[]): number {
  const found = lines.flatMap((line, index) => (line.trimStart().startsWith(`${name}:`) ? [index] : []));
  if (found.length !== 1) throw new Error(`There are ${found.length} lines of ${name}`);
  return found[0]!;
}

/** The changes of a file that the sentences of a tutorial name. Each gets the lines of the file, and may get the name of a line. */
const CHANGES: [pattern: RegExp, change: (lines: string[], added: string[], name: string) => unknown][] = [
  [/^Replace the content of `[^`]+`:$/, (lines, added) => lines.splice(0, lines.length, ...added)],
  [/^In `[^`]+`, replace the first line:$/, (lines, added) => lines.splice(0, 1, ...added)],
  [/^In `[^`]+`, add .* before the last line, `}\);`:$/, (lines, added) => lines.splice(-1, 0, ...added)],
  [
    /^In `[^`]+`, replace the line of `(\w+)`:$/,
    (lines, added, name) => lines.splice(findLineOf(name, lines), 1, ...added),
  ],
  [
    /^In `[^`]+`, add .* below the line of `(\w+)`:$/,
    (lines, added, name) => lines.splice(findLineOf(name, lines) + 1, 0, ...added),
  ],
];

/**
 * Does what the last sentence of an instruction says: `Create src/jobs.ts:`, or one of `CHANGES`. Returns the path of the file.
 *
 * @throws Error if the sentence is none of them, or the file is not as it says
 */
export function writeCode(folder: string, instruction: string, code: string): string {
  const [sentence] = /[^.]*(?:`[^`]*`[^.]*)*:$/.exec(instruction) ?? [''];
  const text = sentence.trim();
  const [, name] = /`([\w./-]+\.ts)`/.exec(text) ?? [];
  if (name === undefined) throw new Error(`No file is named: ${instruction}`);
  const file = join(folder, name);
  if (/^Create `[^`]+`:$/.test(text)) {
    if (existsSync(file)) throw new Error(`${name} exists already`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code);
    return name;
  }
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const found = CHANGES.find(([pattern]) => pattern.test(text));
  if (found === undefined) throw new Error(`Unknown instruction: ${text}`);
  const [pattern, change] = found;
  change(lines, code.trimEnd().split('\n'), pattern.exec(text)![1] ?? '');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return name;
}

/** Returns a pattern for an output: `…` stands for anything in a line, and for any lines if it is alone. */
export function toPattern(output: string): RegExp {
  const lines = output.trim().split('\n');
  const patterns = lines.map((line) =>
    line === '…' ? '[\\s\\S]*' : `[ \\t]*${line.split('…').map(RegExp.escape).join('.*?')}[ \\t]*`,
  );
  return new RegExp(`^${patterns.join('\\n')}$`);
}
