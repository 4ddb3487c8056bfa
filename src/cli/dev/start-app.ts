import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { stopOrphanedServer } from '../../dev-servers/orphaned-server.ts';
import { runGuarded } from '../../dev-servers/run-guarded.ts';
import type { Services } from '../../dev-servers/start.ts';
import type { Project } from '../project/project.ts';
import { type Address, arePortsFree } from './address.ts';
import { createOutputFormatter } from './output/format-output.ts';
import { type RestartingProcess, restartOnChange } from './restart-on-change.ts';

/** This command line as a file, for the process of the app. */
const COMMAND_LINE = fileURLToPath(new URL(`../belfry${extname(import.meta.filename)}`, import.meta.url));

/** Belfry's folder. */
const BELFRY = resolve(dirname(COMMAND_LINE), '../..');

/**
 * Returns whether the app's output is written as it is: JSON lines for a program, instead of lines for a person.
 *
 * @throws Error if LOG_FORMAT is neither `json` nor `pretty`
 */
export function isOutputRaw(): boolean {
  const format = process.env.LOG_FORMAT || 'pretty';
  if (format === 'json' || format === 'pretty') return format === 'json';
  throw new Error(`LOG_FORMAT must be json or pretty, not ${format}.`);
}

/** Writes what the app prints for a person. */
function printFormatted({ output, exited }: ReturnType<typeof runGuarded>, root: string): void {
  const formatter = createOutputFormatter({ root, belfry: BELFRY }, (text) => process.stdout.write(text));
  output?.setEncoding('utf8').on('data', formatter.add);
  void exited.then(formatter.end);
}

/** The folder with a folder for each process of the app. */
const processesFolder = (root: string): string => join(root, '.data', 'web');

/** Stops what a killed `belfry dev` has left running. */
export async function stopOrphanedApp(root: string): Promise<void> {
  const folder = processesFolder(root);
  mkdirSync(folder, { recursive: true });
  await Promise.all(readdirSync(folder).map((name) => stopOrphanedServer(join(folder, name))));
  rmSync(folder, { recursive: true });
}

/** How the process of the app runs. */
interface AppProcess {
  /** Variables that take precedence over those of this process. */
  environment: Record<string, string>;
  /** Further folders whose files restart it, relative to that of the app. */
  alsoWatched: readonly string[];
  /** Writes its output as it is. */
  isRaw: boolean;
}

/**
 * Starts the app's process with the services, and restarts it when the app's files change.
 */
export function startApp(
  { root, appFile }: Project,
  address: Address,
  { databaseUrl, redisUrl }: Services,
  { environment, alsoWatched, isRaw }: AppProcess,
): RestartingProcess {
  // A restart after each saved file must be quick, so the app's process uses the compiled code of this one.
  const compiled = getCompileCacheDir();
  let starts = 0;
  // The app's own output has colours if the terminal shows them.
  const hasColors = styleText('red', 'x') !== 'x';
  const start = () => {
    const folder = join(processesFolder(root), String(starts++));
    mkdirSync(folder, { recursive: true });
    const running = runGuarded(
      {
        command: process.execPath,
        args: [COMMAND_LINE, 'start', 'web', '--app', appFile],
        cwd: root,
        stopSignal: 'SIGTERM',
        graceMs: 20_000,
        pidIn: folder,
      },
      {
        ...process.env,
        NODE_ENV: 'development',
        PORT: String(address.port),
        HOST: address.host,
        // No load balancer has to learn that the process stops.
        DRAIN_DELAY_MS: '0',
        DATABASE_URL: databaseUrl,
        OWN_DATABASE: process.env.DATABASE_URL ? 'no' : 'yes',
        REDIS_URL: redisUrl,
        ...(compiled !== undefined && { NODE_COMPILE_CACHE: dirname(compiled) }),
        ...(hasColors && !isRaw && { FORCE_COLOR: process.env.FORCE_COLOR || '1' }),
        ...environment,
      },
      isRaw ? 'inherit' : 'pipe',
    );
    printFormatted(running, root);
    void running.exited.then(() => rmSync(folder, { recursive: true, force: true }));
    return running;
  };
  const sources = existsSync(join(root, 'src')) ? join(root, 'src') : dirname(appFile);
  const watched = [sources, appFile, join(root, 'migrations'), ...alsoWatched.map((folder) => join(root, folder))];
  const announce = (line: string) => console.log(line.replaceAll(`${root}/`, ''));
  return restartOnChange(watched, { start, arePortsFree: () => arePortsFree(address), announce });
}
