// `npm run check`: types, format and lint, import rules, texts of the pages, messages of the server, pinned files, dead code and the public API, concurrently. Fails if one of them
// fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// biome colours its output even if it is captured.
const colors = `--colors=${process.stdout.isTTY ? 'force' : 'off'}`;
const checks: [name: string, ...command: string[]][] = [
  ['types', 'node_modules/typescript/bin/tsc', '--noEmit'],
  ['types of create-belfry', 'node_modules/typescript/bin/tsc', '-p', 'create-belfry'],
  ['types of the front end', 'node_modules/typescript/bin/tsc', '-p', 'examples/helpdesk-web', '--noEmit'],
  ['types of the pages', 'node_modules/typescript/bin/tsc', '-p', 'packages/pages', '--noEmit'],
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', colors, '.'],
  ['import rules', 'scripts/check/import-rules.ts'],
  ['texts of the pages', 'scripts/check/page-texts.ts'],
  ['messages of the server', 'scripts/check/server-messages.ts'],
  ['pinned files', 'scripts/check/pinned-files.ts'],
  ['public API', 'scripts/api/api.ts'],
  ['dead code', 'node_modules/knip/bin/knip.js', '--no-progress'],
];

/** Runs one check with this Node and prints its result, and its output if it failed. */
function runCheck([name, ...args]: (typeof checks)[number]): Promise<boolean> {
  const begin = Date.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('close', (code) => {
      const took = `${((Date.now() - begin) / 1000).toFixed(1)} s`;
      console.log(code === 0 ? `ok      ${name} (${took})` : `\n${output.trimEnd()}\nFAILED  ${name} (${took})\n`);
      resolve(code === 0);
    });
  });
}

const passed = await Promise.all(checks.map(runCheck));
if (passed.includes(false)) process.exitCode = 1;
