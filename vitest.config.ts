import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { assignProjects, PROJECTS } from './scripts/test/projects.ts';
import { scaleRuns } from './test/support/vitest/fuzz-runs.ts';
import { SlowFilesFirst } from './test/support/vitest/slow-files-first.ts';

const sourceOf = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

const assigned = [...assignProjects(import.meta.dirname)];

/** The number of processes that run test files: one per core within these limits. Each one compiles the same code again. */
const countProcesses = (least: number) => Math.min(6, Math.max(least, availableParallelism()));

export default defineConfig({
  resolve: {
    // The examples import Belfry by the names of its package, as projects do.
    alias: [
      { find: /^belfry$/, replacement: sourceOf('index.ts') },
      { find: /^belfry\/extension$/, replacement: sourceOf('extension/index.ts') },
      { find: /^belfry\/testing$/, replacement: sourceOf('testing/index.ts') },
    ],
  },
  test: {
    projects: PROJECTS.map((name) => ({
      extends: true,
      test: {
        name,
        include: assigned.filter(([, project]) => project === name).map(([file]) => file),
        // Chromium draws on the processor. More of them at once than this would be slow enough for tests to reach their time limits, so the
        // tests of pages run after all others.
        ...(name === 'browser' && { maxWorkers: countProcesses(3), sequence: { groupOrder: 1 } }),
        // A unit test that uses a service fails at once, whether services are running or not.
        ...(name === 'unit' && { env: { TEST_DATABASE_URL: '', TEST_REDIS_URL: '' } }),
      },
    })),
    setupFiles: ['test/support/vitest/fixed-seed.ts', 'test/support/vitest/patient-waits.ts'],
    // Node imports Belfry itself, and keeps what it has compiled for later runs. Vite would transform a thousand modules in each process.
    server: { deps: { external: [new RegExp(`^${RegExp.escape(`${import.meta.dirname}/(src|packages)/`)}`)] } },
    // Each test file has its own database. A process is reused for the next file, because loading Belfry again for each file would take half
    // of the time. So a file must undo its changes to the process.
    pool: 'forks',
    sequence: { sequencer: SlowFilesFirst },
    isolate: false,
    maxWorkers: countProcesses(4),
    // Generous, so that the suite also passes on a busy machine.
    testTimeout: scaleRuns(180_000),
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
