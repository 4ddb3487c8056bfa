import { join } from 'node:path';
import { type AppOpener, findProject, type OpenedApp } from '../project/project.ts';
import { ReportedFailure } from '../terminal/terminal.ts';
import { statusLines } from './lines.ts';
import { readReport } from './report.ts';

const CANNOT_BE_READ = 2;

async function open(openApp: AppOpener, appFile: string | undefined): Promise<OpenedApp> {
  try {
    return await openApp({
      command: 'status',
      appFile,
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'silent' },
      orDevelopment: true,
      needsRedis: true,
    });
  } catch (error) {
    throw new ReportedFailure(CANNOT_BE_READ, { cause: error });
  }
}

/**
 * Reads the state of the running app, and prints it.
 *
 * @throws ReportedFailure with the exit code 1 if something is wrong, and 2 if not everything could be read
 */
export async function runStatus(openApp: AppOpener, appFile: string | undefined, json = false): Promise<void> {
  const app = await open(openApp, appFile);
  const report = await readReport(app, join(findProject(appFile).root, 'migrations'));
  console.log(json ? JSON.stringify(report) : statusLines(report, Date.now()).join('\n'));
  if (!report.isComplete) throw new ReportedFailure(CANNOT_BE_READ);
  if (report.problems.some(({ level }) => level === 'error')) throw new ReportedFailure();
}
