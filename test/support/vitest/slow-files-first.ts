import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The folders and files whose tests wait the longest for processes, servers, browsers and npm, slowest first. They start first and run
 * beside the others, so that none of them runs alone at the end.
 */
export const SLOW = [
  'test/package/upgrade.test.ts',
  'test/package/lifecycle.test.ts',
  'test/api/api-command.test.ts',
  'test/runtime/http/slow-readers.test.ts',
  'test/records/batch/equivalence.test.ts',
  'test/platform/redis',
  'test/readme.test.ts',
  'test/browser',
  'test/runtime/processes',
  'test/extensions/webhooks/delivery/leases',
  'test/extensions/webhooks/recovery',
  'test/scripts/chaos.test.ts',
  'test/files',
  'test/jobs/crashes.test.ts',
  'test/cli',
  'test/platform/postgres/connection-pool.test.ts',
  'test/platform/storage/s3',
  'test/testing',
  'test/contributing.test.ts',
];

/** Returns the place of a file in the list; files that are not in it come last. */
function rankOf(file: string): number {
  const place = SLOW.findIndex((path) => file === path || file.startsWith(`${path}/`));
  return place === -1 ? SLOW.length : place;
}

/** Starts slow files first. Within a folder, and among the others, the order is that of vitest. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => rankOf(relative(project.config.root, moduleId));
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
