import { expect, onTestFinished, test } from 'vitest';
import { createApp, defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

const post = defineResource('post', {
  fields: { title: f.string().unique(), views: f.integer(), tags: f.array(f.string()), at: f.date().filterable() },
});

test('an app refuses to start on an empty database, and names what is missing and the command that fixes it', async () => {
  const project = await createMigrationProject();
  await expect(project.app(post).start({ port: 0 })).rejects.toThrow(/missing: .*table posts[\s\S]*npx belfry migrate/);
});

test('a command during a restart of belfry dev is told to wait for its tables, and one in production to migrate', async () => {
  const project = await createMigrationProject();
  const app = createApp({ resources: [post] }, { ...project.env, NODE_ENV: 'development' });
  onTestFinished(() => app.close());
  await expect(app.bulk.ready()).rejects.toThrow(
    /npx belfry dev adds it while it restarts: .*\n.*without belfry dev, run/,
  );
  await expect(project.app(post).bulk.ready()).rejects.not.toThrow('belfry dev');
});

test.each([
  ['alter table posts drop column views', 'missing: column posts.views\n'],
  ['alter table posts alter column views type text', 'missing: column posts.views as bigint (it is text)\n'],
  [
    'alter table posts alter column at type timestamp',
    'missing: column posts.at as timestamp(3) with time zone (it is timestamp without time zone)\n',
  ],
  ['drop index posts_title_unique', 'missing: unique index posts_title_unique\n'],
  [
    'drop index posts_title_unique; create index posts_title_unique on posts (title)',
    'missing: unique index posts_title_unique\n',
  ],
  [
    `update pg_index set indisvalid = false where indexrelid = 'posts_title_unique'::regclass`,
    'missing: unique index posts_title_unique\n',
  ],
  [
    'alter table sessions drop constraint sessions_token_hash_unique',
    'missing: unique index sessions_token_hash_unique\n',
  ],
])('after %s an app refuses to start', async (sql, line) => {
  const project = await createMigrationProject();
  await project.sync([post]);
  await project.query(sql);
  await expect(project.app(post).start({ port: 0 })).rejects.toThrow(line);
});

test('an app starts without a non-unique index, because it is then only slower', async () => {
  const project = await createMigrationProject();
  await project.sync([post]);
  await project.query('drop index posts_at_index');
  await project.app(post).start({ port: 0, roles: ['web'] });
});
