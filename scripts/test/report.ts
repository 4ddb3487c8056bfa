import { relative } from 'node:path';
import { PROJECTS, type Project } from './projects.ts';

/** What vitest's JSON reporter writes. Times are epoch ms. */
export interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    startTime: number;
    endTime: number;
    assertionResults: { status: string; fullName: string }[];
  }[];
}

const SLOWEST = 10;

const isSkipped = ({ status }: { status: string }) => status === 'pending' || status === 'skipped' || status === 'todo';

/**
 * Returns `N passed, N failed`, and `, N skipped` if any were skipped: browser tests are skipped if there is no browser. A file that
 * failed without a failed test counts as one failure.
 *
 * @param isInBrowser whether a file was skipped because there is no browser
 */
export function summarizeReport(report: Report, isInBrowser: (file: string) => boolean): string {
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const skippedInBrowser = report.testResults
    .filter(({ name }) => isInBrowser(name))
    .flatMap(({ assertionResults }) => assertionResults.filter(isSkipped)).length;
  const skipped = report.numPendingTests + report.numTodoTests - skippedInBrowser;
  const failed = report.numFailedTests + brokenFiles.length;
  const others = skipped ? `, ${skipped} skipped` : '';
  return `${report.numPassedTests} passed, ${failed} failed${others}${skippedInBrowser ? `, ${skippedInBrowser} skipped: no Chromium` : ''}`;
}

const formatSeconds = (ms: number) => (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);

/**
 * Returns what the time of a run was spent on: a line for each project, and the slowest files. The seconds of files that ran at the same
 * time are added up.
 *
 * @param boots the path of the test file of each app that was started
 */
export function describeTimes(
  report: Report,
  projects: ReadonlyMap<string, Project>,
  boots: readonly string[],
  root: string,
): string[] {
  const files = report.testResults.map(({ name, startTime, endTime, assertionResults }) => {
    const path = relative(root, name);
    return { path, project: projects.get(path), ms: endTime - startTime, tests: assertionResults.length };
  });
  const lines = PROJECTS.flatMap((project) => {
    const own = files.filter((file) => file.project === project);
    if (own.length === 0) return [];
    const tests = own.reduce((sum, file) => sum + file.tests, 0);
    const apps = boots.filter((path) => projects.get(relative(root, path)) === project).length;
    const seconds = formatSeconds(own.reduce((sum, file) => sum + file.ms, 0));
    return `  ${project.padEnd(8)}${seconds.padStart(6)} s  ${own.length} files, ${tests} tests, ${apps} apps started`;
  });
  const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  if (files.length > SLOWEST) {
    lines.push('The slowest files:');
    for (const { path, ms } of slowest) lines.push(`  ${formatSeconds(ms).padStart(6)} s  ${path}`);
  }
  return lines;
}
