import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { onStopRequest } from '../../dev-servers/on-stop-request.ts';
import { startServices } from '../../dev-servers/start.ts';

/** The exit code of a shell for a command that does not exist. */
const NOT_FOUND = 127;

/** Returns the PATH with the commands of installed packages first, as npm scripts have it. */
function pathWithPackages(path: string): string {
  const folders: string[] = [];
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules', '.bin'));
    if (dirname(folder) === folder) return [...folders, path].join(delimiter);
  }
}

/** A command that runs with this terminal. */
interface RunningCommand {
  /** Resolves with the exit code: 128 and the number of the signal if a signal ended the command. */
  exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

function startCommand([command, ...args]: readonly string[], environment: Record<string, string>): RunningCommand {
  const child = spawn(command!, args, {
    // A command such as `vitest` reads keys from the terminal.
    stdio: 'inherit',
    env: { ...process.env, ...environment, PATH: pathWithPackages(process.env.PATH ?? '') },
    // On Windows, the commands of packages are scripts.
    shell: process.platform === 'win32',
  });
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') return reject(error);
      console.error(`${command}: command not found. If it is a package, run: npm install --save-dev ${command}`);
      resolve(NOT_FOUND);
    });
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
  return { exited, kill: (signal) => child.kill(signal) };
}

/**
 * Runs a command with throw-away servers, and returns its exit code. Signals end the command first, then the servers.
 *
 * @throws Error if a server cannot be started
 */
export async function runWithServers(words: readonly string[]): Promise<number> {
  let running: RunningCommand | undefined;
  // Lines about the servers must not mix with the output of the command, which may be a report.
  const starting = startServices({ mode: 'test', inMemory: true, announce: (line) => console.error(line) });
  const stopServers = () =>
    starting.then(
      (services) => services.stop(),
      () => undefined,
    );
  const removeListeners = onStopRequest(async (exitCode) => {
    const signal = ({ 129: 'SIGHUP', 130: 'SIGINT' } as const)[exitCode] ?? 'SIGTERM';
    running?.kill(signal);
    await running?.exited.catch(() => undefined);
    await stopServers();
  });
  try {
    const { databaseUrl, redisUrl } = await starting;
    running = startCommand(words, { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl });
    return await running.exited;
  } finally {
    await stopServers();
    removeListeners();
  }
}
