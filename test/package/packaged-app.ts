import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { waitFor } from '../../src/testing/waiting/wait.ts';
import { npmNetworkVariables } from './npm-network.ts';

// Generous, because other tests run at the same time.
const INSTALL_TIMEOUT_MS = 360_000;
const START_TIMEOUT_MS = 120_000;

/** A command that runs in a sandbox, in a process group of its own. */
export interface RunningCommand {
  child: ChildProcess;
  /** Everything that it has printed so far. */
  output(): string;
  /** Resolves with the exit code, or with the signal that ended it, and with its output. */
  ended: Promise<CommandResult>;
  /**
   * Waits until its output matches a pattern.
   *
   * @throws Error with the output if the command ends first, or prints no match within two minutes
   */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal to the command and its child processes, as a terminal does. */
  signal(name: NodeJS.Signals): void;
}

/** How a command ended. */
export interface CommandResult {
  code: number | string;
  output: string;
}

/** Where a command runs. */
interface CommandOptions {
  /** The working directory. */
  cwd: string;
  /** Variables besides those of the sandbox. */
  env?: Record<string, string>;
}

/**
 * A machine for apps: an empty folder, with a HOME and a folder for temporary files that are empty, too. npm has this machine's settings,
 * and the packages in its cache.
 */
export interface Sandbox {
  /** The folder of everything in the sandbox. */
  root: string;
  /** The folder of apps. */
  folder: string;
  home: string;
  temporary: string;
  /** The variables of its commands. */
  env: Readonly<Record<string, string>>;
  start(command: string, args: readonly string[], options: CommandOptions): RunningCommand;
  /** Kills what still runs, and removes all folders. */
  remove(): Promise<void>;
}

/** Creates a sandbox. Commands in it find this Node, but no package of this repository and no variable of its environment. */
export function createSandbox(): Sandbox {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-sandbox-')));
  // Started by root, Postgres runs as another user, who must be able to enter the folder.
  chmodSync(root, 0o755);
  const [folder, home, temporary, npm] = ['apps', 'home', 'tmp', 'npm'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [folder, home, temporary, npm]) mkdirSync(path);
  // The packages of an app are packages of this repository, too, so its installation has filled the cache with them. The sandbox shares
  // nothing else with npm's folder: neither logs nor the packages of `npm exec`.
  const cache = join(process.env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache');
  mkdirSync(cache, { recursive: true });
  symlinkSync(cache, join(npm, '_cacache'));
  const path = (process.env.PATH ?? '').split(delimiter).filter((place) => basename(place) !== '.bin');
  const sandboxEnv: Record<string, string> = {
    ...npmNetworkVariables(),
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    HOME: home,
    TMPDIR: temporary,
    NO_COLOR: '1',
    // No Docker engine, so that the servers are the same on every machine.
    DOCKER_HOST: `unix://${root}/docker.sock`,
    npm_config_cache: npm,
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const running = new Set<RunningCommand>();
  const kill = () => {
    for (const one of running) one.signal('SIGKILL');
  };
  const removeFiles = () => rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  // The groups of the commands would outlive an interrupted process.
  const removeAtExit = () => {
    kill();
    removeFiles();
  };
  process.on('exit', removeAtExit);

  return {
    root,
    folder,
    home,
    temporary,
    env: sandboxEnv,
    start(command, args, { cwd, env = {} }) {
      const started = startCommand(command, args, { cwd, env: { ...sandboxEnv, ...env } });
      running.add(started);
      void started.ended.finally(() => running.delete(started));
      return started;
    },
    async remove() {
      kill();
      await Promise.allSettled([...running].map(({ ended }) => ended));
      removeFiles();
      process.off('exit', removeAtExit);
    },
  };
}

function startCommand(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): RunningCommand {
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let result: CommandResult | undefined;
  const ended = once(child, 'close').then(([code, signal]) => {
    result = { code: code ?? signal, output: output.trim() };
    return result;
  });
  // `printed` and `remove` may be all that anyone calls.
  ended.catch(() => undefined);
  const name = [basename(command), ...args].join(' ');
  return {
    child,
    output: () => output,
    ended,
    async printed(pattern) {
      const find = () => {
        const found = pattern.exec(output);
        if (found === null && result !== undefined)
          throw new Error(`${name} ended (${result.code}) without printing ${pattern}:\n${output}`);
        return found ?? undefined;
      };
      return waitFor(find, () => `${name} has not printed ${pattern}, but:\n${output}`, {
        timeoutMs: START_TIMEOUT_MS,
      });
    },
    signal(name) {
      try {
        process.kill(-child.pid!, name);
      } catch (error) {
        // The group has ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
  };
}

/** The processes of a deployment. Earlier releases have no `job-worker`. */
const ROLES = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'] as const;
type Role = (typeof ROLES)[number];

/** The processes of a deployment. */
export interface Deployment {
  /** Where `web` listens. */
  url: string;
  processes: Record<Exclude<Role, 'job-worker'>, RunningCommand> & Partial<Record<'job-worker', RunningCommand>>;
  /** Sends SIGTERM to all processes, and returns their exit codes. */
  stop(): Promise<Partial<Record<Role, number | string>>>;
}

/** An app that depends on a packed Belfry, as `npm create belfry` makes it. */
export interface PackagedApp {
  folder: string;
  /** Starts a command in the folder of the app: `npm`, `npx`, or a path relative to the folder. */
  start(command: string, args: readonly string[], env?: Record<string, string>): RunningCommand;
  /**
   * Runs a command to its end and returns its output.
   *
   * @throws Error with the output if its exit code is not 0
   */
  run(command: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
  /** Removes the packages that an image of its Dockerfile does not contain. */
  pruneForProduction(): Promise<void>;
  /**
   * Starts the processes of its Procfile, without the release step, and waits until they work. `web` chooses its port.
   *
   * @param env the environment of a deployment: DATABASE_URL, REDIS_URL, APP_URL, SVC_ENCRYPTION_KEYS, …
   */
  deploy(env: Record<string, string>): Promise<Deployment>;
}

/** Returns the command of a process in a Procfile: words such as `RELAY=off` before it are variables. */
function readProcfile(folder: string, role: Role) {
  const line = readFileSync(join(folder, 'Procfile'), 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${role}: `));
  if (line === undefined) throw new Error(`The Procfile in ${folder} has no process ${role}.`);
  const words = line.slice(role.length + 2).split(' ');
  const start = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const env = Object.fromEntries(words.slice(0, start).map((word) => word.split('=') as [string, string]));
  return { env, command: words[start]!, args: words.slice(start + 1) };
}

/** Gives access to the app in a folder of a sandbox. */
export function openApp(sandbox: Sandbox, folder: string): PackagedApp {
  const start: PackagedApp['start'] = (command, args, env = {}) =>
    sandbox.start(command.includes('/') ? join(folder, command) : command, args, { cwd: folder, env });
  const run: PackagedApp['run'] = (command, args, env) =>
    expectSuccess([command, ...args].join(' '), start(command, args, env));
  return {
    folder,
    start,
    run,
    async pruneForProduction() {
      const [, line] = /^RUN (npm ci .*)$/m.exec(readFileSync(join(folder, 'Dockerfile'), 'utf8'))!;
      for (const command of line!.split(' && ')) {
        const [npm, ...args] = command.replace('npm ci', 'npm prune').split(' ');
        // The sandbox shares npm's cache with the machine.
        if (args[0] !== 'cache') await run(npm!, args);
      }
    },
    async deploy(env) {
      const startRole = (role: Role) => {
        const { command, args, env: ownEnv } = readProcfile(folder, role);
        const place = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0' };
        return [role, start(command, args, { ...place, ...ownEnv, ...env })] as const;
      };
      const procfile = readFileSync(join(folder, 'Procfile'), 'utf8');
      const roles = ROLES.filter((role) => procfile.includes(`\n${role}: `));
      const processes = Object.fromEntries(roles.map(startRole)) as Record<Role, RunningCommand>;
      await Promise.all(Object.values(processes).map((one) => one.printed(/with the roles/)));
      const [, url] = await processes.web.printed(/"url":"([^"]+)"/);
      return {
        url: url!,
        processes,
        async stop() {
          for (const { child } of Object.values(processes)) child.kill('SIGTERM');
          const ends = roles.map(async (role) => [role, (await processes[role].ended).code] as const);
          return Object.fromEntries(await Promise.all(ends)) as Partial<Record<Role, number | string>>;
        },
      };
    },
  };
}

/** Waits for the end of a command. @throws Error with its output if it failed */
async function expectSuccess(name: string, command: RunningCommand): Promise<string> {
  const timer = setTimeout(() => command.signal('SIGKILL'), INSTALL_TIMEOUT_MS);
  const { code, output } = await command.ended;
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${name} failed (${code}):\n${output}`);
  return output;
}

/** What an app is created from. */
interface AppSource {
  /** The path of a packed Belfry. */
  belfry: string;
  /** The path of a packed create-belfry. */
  createBelfry: string;
  /** The name of the app, which is also that of its folder. */
  name?: string;
  example?: 'blog' | 'empty';
  /** Further options of create-belfry, such as `--no-install`. */
  options?: readonly string[];
}

/**
 * Creates an app in a sandbox, as `npm create belfry my-app -- --yes` does, and installs its packages.
 *
 * @throws Error with the output if it fails
 */
export async function createPackagedApp(
  sandbox: Sandbox,
  { belfry, createBelfry, name = 'my-app', example = 'blog', options = [] }: AppSource,
): Promise<PackagedApp> {
  const folder = join(sandbox.folder, name);
  const choices = [name, '--yes', '--example', example, '--belfry', belfry, ...options];
  const args = ['exec', '--yes', `--package=${createBelfry}`, '--', 'create-belfry', ...choices];
  await expectSuccess(`create-belfry ${name}`, sandbox.start('npm', args, { cwd: sandbox.folder }));
  if (!existsSync(folder)) throw new Error(`create-belfry did not create ${folder}.`);
  return openApp(sandbox, folder);
}

/** Waits until an address answers a request with 200, whatever it answered before. */
export async function waitForHttp(url: string): Promise<void> {
  let last = 'nothing';
  const ask = async () => {
    try {
      const { status } = await fetch(url, { signal: AbortSignal.timeout(5000) });
      last = String(status);
      return status === 200 || undefined;
    } catch (error) {
      last = String((error as Error).cause ?? error);
      return undefined;
    }
  };
  await waitFor(ask, () => `${url} has not answered with 200, but with ${last}`, { timeoutMs: START_TIMEOUT_MS });
}
