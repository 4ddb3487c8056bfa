import { StartupError } from '../../platform/config/environment.ts';
import { VERSION } from '../../platform/version.ts';
import type { Finding } from '../../runtime/diagnose.ts';
import type { AppOpener } from '../project.ts';
import { ReportedFailure, stripControlCharacters } from '../terminal.ts';

const MARKS: Record<Finding['level'], string> = { ok: 'ok      ', warning: 'warning ', error: 'error   ' };

function findingLines({ level, message, fix }: Finding): string[] {
  const lines = [`${MARKS[level]} ${stripControlCharacters(message)}.`];
  return fix === undefined ? lines : [...lines, `         Fix: ${stripControlCharacters(fix)}.`];
}

/** Returns the findings for an app that cannot be created: one for each configuration error. */
function describeStartupError(error: unknown): Finding[] {
  const lines = error instanceof StartupError ? error.errors : [(error as Error).message];
  return lines.map((message) => ({ level: 'error', message }));
}

/**
 * Checks whether the app can run here, and prints the findings.
 *
 * @throws ReportedFailure if there is an error among them
 */
export async function runDoctor(openApp: AppOpener, appFile: string | undefined, json = false): Promise<void> {
  const findings: Finding[] = [
    { level: 'ok', message: `Belfry ${VERSION} on Node ${process.versions.node} (${process.platform})` },
  ];
  try {
    const app = await openApp({
      command: 'doctor',
      appFile,
      environment: { LOG_LEVEL: 'silent' },
      orDevelopment: true,
      needsRedis: true,
    });
    findings.push(...(await app.diagnose()));
  } catch (error) {
    findings.push(...describeStartupError(error));
  }
  const count = (level: Finding['level']) => findings.filter((one) => one.level === level).length;
  if (json) console.log(JSON.stringify(findings));
  else {
    console.log(findings.flatMap(findingLines).join('\n'));
    console.log(`\nErrors: ${count('error')}. Warnings: ${count('warning')}.`);
  }
  if (count('error') > 0) throw new ReportedFailure();
}
