import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished, vi } from 'vitest';
import { generate, type Outcome } from '../../../src/cli/migration/generate.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { createApp, softDelete } from '../../../src/index.ts';
import type { App } from '../../../src/runtime/create-app.ts';
import { isFrameworkMigration } from '../../../src/runtime/migrations/framework.ts';
import type { MigrateOptions } from '../../../src/runtime/migrations/migrate.ts';
import { createTestDatabase } from './test-database.ts';

// Comparing tables loads drizzle-kit first, which takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

/** A project for migration tests: an empty database and an empty folder of migrations. */
export interface MigrationProject {
  env: Record<string, string>;
  url: string;
  folder: string;
  /** Creates an app with these resources; it is closed when the test ends. */
  app(...resources: AnyResource[]): App;
  /** `npx belfry migration generate` for these resources, with command-line arguments. */
  generate(resources: AnyResource[], ...options: string[]): Promise<Outcome>;
  /** `npx belfry migrate`. Returns the names of the project's migrations that it applied. */
  apply(): Promise<string[]>;
  /** Generates and applies a migration; throws if the generation fails. */
  change(resources: AnyResource[], ...options: string[]): Promise<string[]>;
  /** The database part of `npx belfry dev`. */
  sync(resources: AnyResource[], mayDrop?: MigrateOptions['mayDrop']): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
  query(text: string, values?: unknown[]): Promise<any[]>;
  /** Removes both before the test ends, for tests that create many projects. */
  remove(): Promise<void>;
}

/**
 * Creates a database and a folder for one test; both are removed when it ends.
 *
 * @param atEnd registers the removal; pass another function to share the project between several tests
 */
export async function createMigrationProject(
  atEnd: (remove: () => Promise<void>) => void = onTestFinished,
): Promise<MigrationProject> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'belfry-migrations-'));
  const url = database.databaseUrl;
  const client = new pg.Client(url);
  const apps: App[] = [];
  await client.connect();
  let removal: Promise<void> | undefined;
  const remove = () => {
    removal ??= (async () => {
      await Promise.all(apps.map((app) => app.close()));
      await client.end();
      await database.drop();
      await rm(folder, { recursive: true });
    })();
    return removal;
  };
  atEnd(remove);
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: url,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  const project: MigrationProject = {
    env,
    url,
    folder,
    app(...resources) {
      const app = createApp({ resources, extensions: [softDelete()] }, env) as App;
      apps.push(app);
      return app;
    },
    generate: (resources, ...options) => generate(project.app(...resources), folder, options, url),
    async apply() {
      const applied: string[] = [];
      await project.app().migrate({ mode: 'apply', folder, say: (line) => applied.push(line.replace(' applied', '')) });
      return applied.filter((name) => !isFrameworkMigration({ name }));
    },
    async change(resources, ...options) {
      const { ok, lines } = await project.generate(resources, ...options);
      if (!ok) throw new Error(lines.join('\n'));
      return project.apply();
    },
    sync: (resources, mayDrop = 'empty') => project.app(...resources).migrate({ mode: 'sync', mayDrop }),
    query: async (text, values) => (await client.query(text, values)).rows,
    remove,
  };
  return project;
}
