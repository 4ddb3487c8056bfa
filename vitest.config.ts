import { defineConfig } from 'vitest/config';
import { runs } from './test/support/runs.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/fixed-seed.ts'],
    // Files run side by side in four processes, each file with a database of its own. A process goes on with the next file:
    // to load Belfry anew for each would take half of the time. So a file takes back what it changes of its process.
    pool: 'forks',
    isolate: false,
    maxWorkers: 4,
    // Long, so that the suite passes on a busy machine, too.
    testTimeout: runs(180_000),
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
