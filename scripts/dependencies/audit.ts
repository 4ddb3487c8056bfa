// `npm run audit:dependencies`: fails if a production dependency has a known vulnerability of high or critical severity. It is skipped
// if the registry does not answer audits, because a network failure must not fail CI; --require-answer then exits with code 2.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { judgeAudit, parseAcceptedAdvisories } from './audit-result.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const EXIT_CODES = { passed: 0, skipped: 0, failed: 1 };
const EXIT_UNANSWERED = 2;

/**
 * Asks the registry about all production dependencies of the lock file.
 *
 * @returns the output of npm; undefined if it did not end in time
 * @throws Error if npm cannot be started
 */
function runNpmAudit(timeoutMs: number): string | undefined {
  const args = ['audit', '--omit=dev', '--json', '--fetch-retries=0'];
  const { stdout, error } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 1 << 26,
    shell: process.platform === 'win32',
  });
  if (error === undefined) return stdout;
  if ((error as NodeJS.ErrnoException).code === 'ETIMEDOUT') return undefined;
  throw new Error(`npm audit cannot be run: ${error.message}`);
}

try {
  const { values } = parseArgs({
    options: { timeout: { type: 'string', default: '30' }, 'require-answer': { type: 'boolean', default: false } },
  });
  const seconds = Number(values.timeout);
  if (!(seconds > 0)) throw new Error(`--timeout must be a number of seconds, not ${values.timeout}`);
  const accepted = parseAcceptedAdvisories(
    readFileSync(new URL('./accepted-advisories.json', import.meta.url), 'utf8'),
  );
  const today = new Date().toISOString().slice(0, 10);
  const { outcome, lines } = judgeAudit(runNpmAudit(seconds * 1000), accepted, today);
  console.log(`Dependency audit ${lines.join('\n')}`);
  process.exitCode = outcome === 'skipped' && values['require-answer'] ? EXIT_UNANSWERED : EXIT_CODES[outcome];
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
