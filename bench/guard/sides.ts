import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Session } from '../session.ts';
import type { Child, Children } from '../setup/children.ts';
import { withClient } from '../setup/database.ts';
import { createBelfryEnvironment, type Role, type Servers } from '../setup/environment.ts';
import { WORKING_TREE } from './worktree.ts';

/** The sides of a comparison: the working tree, the other commit, and the handwritten API. */
export type SideName = 'this' | 'against' | 'handwritten';

/** One side, with a database of its own. */
export interface Side {
  name: SideName;
  /** The folder that contains its code. */
  root: URL;
  servers: Servers;
  children: Children;
  /** Options of its processes' Node. */
  nodeOptions: readonly string[];
}

function createEnvironment({ name, servers }: Side, role: Role = 'web'): Record<string, string> {
  return { ...createBelfryEnvironment(servers, role), REDIS_PREFIX: `bench-${name}` };
}

/** Returns the first of these files that the side has. @throws if there is none */
function findFile({ root }: Side, ...files: string[]): string {
  const found = files.find((file) => existsSync(new URL(file, root)));
  if (found === undefined) throw new Error(`${files[0]} does not exist there`);
  return found;
}

/** Starts a process of the side. @param program its path in the side's folder */
export async function startProcess(
  side: Side,
  program: string,
  role: Role = 'web',
  moreEnvironment: Record<string, string> = {},
): Promise<Child> {
  const environment = { ...createEnvironment(side, role), ...moreEnvironment };
  return side.children.start(new URL(findFile(side, program), side.root), environment, side.nodeOptions);
}

/** Runs statements of a module in the folder of the side, whose declarations and tables may differ from those of the working tree. */
async function runModule({ root, name }: Side, code: string, argument: unknown): Promise<void> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code, JSON.stringify(argument)], {
    cwd: fileURLToPath(root),
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 2, 2],
  });
  const [exitCode] = await once(child, 'exit');
  if (exitCode !== 0) throw new Error(`The database of "${name}" could not be prepared.`);
}

/** Adds the tables of more extensions to the database of the side. */
export async function migrate(side: Side, moreEnvironment: Record<string, string>): Promise<void> {
  const app = findFile(side, 'bench/apps/articles.ts');
  const code = `
    const { createBenchApp } = await import('./${app}');
    const app = createBenchApp(JSON.parse(process.argv[1]));
    await app.migrate({ mode: 'sync' });
    await app.close();`;
  await runModule(side, code, { ...createEnvironment(side), ...moreEnvironment });
}

async function seed(side: Side): Promise<void> {
  const file = findFile(side, 'bench/setup/seed.ts', 'bench/seed.ts');
  // Older commits call the function `seed`.
  const code = `
    const { seedDatabase, seed } = await import('./${file}');
    await (seedDatabase ?? seed)(JSON.parse(process.argv[1]));`;
  await runModule(side, code, side.servers);
}

/** Creates the sides with their databases. @param otherRoot the folder of the other commit; undefined for none */
export async function createSides({ services, children }: Session, otherRoot?: URL): Promise<Side[]> {
  const createSide = (name: SideName, root: URL): Side => {
    const databaseUrl = new URL(services.databaseUrl);
    databaseUrl.pathname = `/guard_${name}`;
    const servers = { databaseUrl: databaseUrl.href, redisUrl: services.redisUrl };
    return { name, root, servers, children, nodeOptions: [] };
  };
  const belfry = [createSide('this', WORKING_TREE), ...(otherRoot ? [createSide('against', otherRoot)] : [])];
  await withClient(services.databaseUrl, async (client) => {
    // It would begin at a random moment, and its work would be counted for the side whose turn it is.
    await client.query('alter system set autovacuum = off');
    await client.query('select pg_reload_conf()');
    for (const { name } of belfry) await client.query(`create database guard_${name}`);
    await Promise.all(belfry.map(seed));
    await client.query('create database guard_handwritten template guard_this');
  });
  return [...belfry, createSide('handwritten', WORKING_TREE)];
}
