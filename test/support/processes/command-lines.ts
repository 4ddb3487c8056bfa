// Runs commands of `belfry` one after the other in this process, for tests of many commands that each load an app. The argument is JSON:
// a list of `{ folder, words, env }`. Prints a JSON list of `{ code, output }`.
import { runCommandLine } from '../../../src/cli/command-line.ts';

interface Run {
  folder: string;
  words: string[];
  env: Record<string, string>;
}

const own = { ...process.env };
const print = console.log;
const results: { code: number; output: string }[] = [];
for (const { folder, words, env } of JSON.parse(process.argv[2]!) as Run[]) {
  process.chdir(folder);
  // Replacing `process.env` would hide what `process.loadEnvFile` sets.
  for (const name of Object.keys(process.env)) if (own[name] === undefined) delete process.env[name];
  Object.assign(process.env, own, env);
  const lines: string[] = [];
  console.log = console.error = (line: string) => void lines.push(line);
  const code = await runCommandLine(words);
  results.push({ code, output: lines.join('\n').trim() });
}
print(JSON.stringify(results));
