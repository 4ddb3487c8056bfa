import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench } from '../../figure.ts';
import type { Child } from '../../setup/children.ts';
import { getUserEmail, PASSWORD, USERS } from '../../setup/seed.ts';
import { createPeerDatabase } from '../database.ts';
import { post } from '../http.ts';
import { getPackageFolder } from '../packages.ts';

const ADMIN = { email: 'admin@example.com', password: PASSWORD };

function createEnvironment(databaseUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: databaseUrl,
    SECRET: 'a secret of the bench, long enough for Directus',
    PUBLIC_URL: 'http://127.0.0.1',
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: 'error',
    TELEMETRY: 'false',
  };
}

/** Starts Directus on a new database that has its system tables only. */
export async function startEmptyDirectus(bench: Bench): Promise<{ server: Child; databaseUrl: string }> {
  const databaseUrl = await createPeerDatabase(bench.servers, 'directus');
  const environment = createEnvironment(databaseUrl);
  const folder = getPackageFolder('directus');
  const hooks = new URL('../processes/without-isolated-vm.ts', import.meta.url);
  const cli = fileURLToPath(new URL('node_modules/@directus/api/dist/cli/run.js', folder));
  await promisify(execFile)(process.execPath, ['--import', hooks.href, cli, 'bootstrap'], {
    cwd: fileURLToPath(folder),
    env: { PATH: process.env.PATH, ...environment },
  });
  const program = new URL('../processes/directus.ts', import.meta.url);
  return { server: await bench.children.start(program, environment), databaseUrl };
}

const createField = (field: string, type: string, meta: object = {}, schema: object = {}) => ({
  field,
  type,
  meta,
  schema,
});

const FIELDS = [
  createField('id', 'uuid', { special: ['uuid'] }, { is_primary_key: true }),
  createField('title', 'string', { required: true }),
  createField('body', 'text'),
  createField('category', 'string'),
  createField('status', 'string', {}, { default_value: 'draft' }),
  createField('tags', 'json', { special: ['cast-json'] }),
  createField('views', 'integer', {}, { default_value: 0 }),
  createField('author', 'uuid', { special: ['user-created'] }),
  createField('created_at', 'timestamp', { special: ['date-created'] }),
  createField('updated_at', 'timestamp', { special: ['date-updated'] }),
];

/** Creates the collection of articles, and users who may do everything with it. Returns the ids of the users. */
export async function createCollectionAndUsers(url: string): Promise<string[]> {
  type Created = { data: { id: string } };
  const { data: login } = await post<{ data: { access_token: string } }>(url, '/auth/login', ADMIN, { status: 200 });
  const asAdmin = { status: 200, headers: { authorization: `Bearer ${login.access_token}` } };
  const create = async (path: string, value: object) => (await post<Created>(url, path, value, asAdmin)).data.id;
  await create('/collections', { collection: 'articles', schema: {}, meta: {}, fields: FIELDS });
  await create('/relations', { collection: 'articles', field: 'author', related_collection: 'directus_users' });
  const role = await create('/roles', { name: 'author' });
  // Rules for single rows need a licence.
  const roles = { create: [{ role, sort: 1 }], update: [], delete: [] };
  const policy = await create('/policies', { name: 'author', roles });
  for (const action of ['create', 'read', 'update', 'delete'])
    await create('/permissions', { policy, collection: 'articles', action, fields: ['*'] });
  const users: string[] = [];
  for (let user = 0; user < USERS; user++)
    users.push(await create('/users', { email: getUserEmail(user), password: PASSWORD, role }));
  return users;
}
