import { watch } from 'chokidar';
import type { GuardedProcess } from '../../dev-servers/run-guarded.ts';

const SETTLE_MS = 80;

/**
 * The names of files that an app is made of: what Node.js and browsers load, SQL, and templates. Editors and other programs write further files next to
 * them, such as locks (`.#app.ts`) and databases.
 */
const IS_PART_OF_APP =
  /(?:^|[\\/])[^.\\/][^\\/]*\.(?:[cm]?[jt]s|[jt]sx|json|wasm|node|sql|html|css|svg|ejs|hbs|njk|mjml|ya?ml)$/;

/** A process that restarts when files change. */
export interface RestartingProcess {
  /** Resolves once changes are detected. */
  ready: Promise<void>;
  /** Stops watching and the process. Resolves when the process is gone. */
  stop(): Promise<void>;
}

/**
 * Starts a process and restarts it when a file of the app in one of the folders changes. If it has exited by itself (an error in a
 * declaration), the next change starts it again. Node's own watch mode loses files that an editor replaces when it saves.
 *
 * @param start starts the process
 * @param announce prints a line
 */
export function restartOnChange(
  folders: string[],
  start: () => GuardedProcess,
  announce: (line: string) => void,
): RestartingProcess {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let work = Promise.resolve();
  /** Undefined while the process is being restarted: then its exit says nothing. */
  let current: GuardedProcess | undefined = startProcess();

  function startProcess(): GuardedProcess {
    const running = start();
    void running.exited.then((code) => {
      // A change that was detected while it ended restarts it.
      if (running === current && !stopped && timer === undefined && code !== 0) announce('Waiting for a file change.');
    });
    return running;
  }

  async function restartProcess(): Promise<void> {
    if (stopped) return;
    const old = current;
    current = undefined;
    await old?.stop();
    if (!stopped) current = startProcess();
  }

  const watcher = watch(folders, { ignoreInitial: true });
  watcher.on('all', (_event, file) => {
    if (!IS_PART_OF_APP.test(file)) return;
    clearTimeout(timer);
    // Several files saved at once, or one file saved in steps, cause one restart.
    timer = setTimeout(() => {
      announce(`${file} changed, restarting.`);
      timer = undefined;
      work = work.then(restartProcess);
    }, SETTLE_MS);
  });

  return {
    ready: new Promise((resolve) => watcher.once('ready', resolve)),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await watcher.close();
      await work;
      await current?.stop();
    },
  };
}
