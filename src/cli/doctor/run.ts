import { join } from 'node:path';
import type { StartupError } from '../../platform/helpers/config-errors.ts';
import { VERSION } from '../../platform/helpers/version.ts';
import type { Finding } from '../../platform/observability/finding.ts';
import { type AppOpener, findProject } from '../project/project.ts';
import { formatFindings } from '../terminal/findings.ts';
import { ReportedFailure } from '../terminal/terminal.ts';

/** Returns the findings for an app that cannot be created: one for each configuration error. */
function describeStartupError(error: unknown): Finding[] {
  const { message, errors = [message] } = error as Error & Partial<StartupError>;
  // The summary says more than the error only if the app could not be loaded.
  const lines = errors.length === 1 ? [message.replaceAll(/\n( {2}- )?/g, ' ')] : errors;
  return [
    ...lines.map((line): Finding => ({ level: 'error', message: line })),
    {
      level: 'warning',
      message: 'The servers and the database were not checked',
      fix: lines.some((line) => line.includes('DATABASE_URL is missing'))
        ? 'set the variables in the shell or in .env. To check the app in development, start npx belfry dev in another terminal first'
        : 'fix the errors above, then run npx belfry doctor again',
    },
  ];
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
    findings.push(...(await app.diagnose({ folder: join(findProject(appFile).root, 'migrations') })));
  } catch (error) {
    findings.push(...describeStartupError(error));
  }
  console.log(json ? JSON.stringify(findings) : formatFindings(findings).join('\n'));
  if (findings.some(({ level }) => level === 'error')) throw new ReportedFailure();
}
