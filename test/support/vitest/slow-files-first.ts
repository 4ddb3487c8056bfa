import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The test files that take the longest, most of them waiting for processes, servers, browsers and npm. They start first in their project, and
 * run beside the others, so that none of them runs alone at the end.
 */
export const SLOW_FILES = [
  'test/package/upgrade.test.ts',
  'test/package/lifecycle.test.ts',
  'test/api/api-command.test.ts',
  'test/readme.test.ts',
  'test/contributing.test.ts',
  'test/docs/tutorial.test.ts',
  'test/runtime/http/slow-readers.test.ts',
  'test/platform/data/redis/stop.test.ts',
  'test/jobs/crashes.test.ts',
  'test/platform/observability/tracing/processes.test.ts',
  'test/files/resumable.test.ts',
  'test/runtime/processes/replaced-processes.test.ts',
  'test/platform/data/redis/cluster.test.ts',
  'test/runtime/http/idempotency/idempotency.test.ts',
  'test/extensions/privacy/export/large-export.test.ts',
  'test/cli/project/project.test.ts',
  'test/docs/testing.test.ts',
  'test/docs/commands.test.ts',
  'test/testing/servers.test.ts',
  'test/scripts/chaos.test.ts',
  'test/platform/data/redis/sentinels.test.ts',
  'test/platform/data/redis/single-server.test.ts',
  'test/browser/console-data.test.ts',
  'test/browser/console-data-record.test.ts',
  'test/browser/console-data-access.test.ts',
  'test/browser/sign-in-pages-accessibility.test.ts',
  'test/browser/console-push-layout.test.ts',
  'test/browser/console-jobs.test.ts',
  'test/browser/console-mails.test.ts',
  'test/browser/sign-in-pages-account.test.ts',
  'test/client/auth/browser-sessions.test.ts',
  'test/client/auth/passkeys.test.ts',
  'test/client/react/hooks.test.ts',
  'test/client/realtime/live-list-random.test.ts',
  'test/records/batch/equivalence.test.ts',
  'test/extensions/organisations/isolation.property.test.ts',
  'test/runtime/openapi/properties.test.ts',
  'test/platform/data/crypto/rotation/rotate.test.ts',
  'test/extensions/webhooks/engine/delivery/leases/lingering-lease.test.ts',
  'test/extensions/webhooks/engine/delivery/leases/requested-deliveries.test.ts',
  'test/platform/data/postgres/connection-pool.test.ts',
  'test/extensions/webhooks/engine/delivery/delivery.test.ts',
  'test/extensions/webhooks/api/delivery-log.test.ts',
  'test/extensions/webhooks/engine/recovery/lost-work.test.ts',
  'test/runtime/migrations/kind-changes.test.ts',
  'test/records/batch/hostile.test.ts',
  'test/platform/data/storage/s3/failures.test.ts',
];

/** Returns the place of a file in the list; files that are not in it come last. */
function rankOf(file: string): number {
  const place = SLOW_FILES.indexOf(file);
  return place === -1 ? SLOW_FILES.length : place;
}

/**
 * Starts slow files first, project by project, beginning with the project of the slowest file. Vitest ends a process as soon as the next file
 * belongs to another project, and a new process has to load and compile Belfry again.
 */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => rankOf(relative(project.config.root, moduleId));
    const sorted = (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
    return [...Map.groupBy(sorted, ({ project }) => project).values()].flat();
  }
}
