import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch } from 'chokidar';
import type { GuardedProcess } from '../../dev-servers/run-guarded.ts';

const SETTLE_MS = 80;

/** How long a restart waits for the former process before it looks whether that one only finishes work. */
const FINISH_MS = 1000;

/** How many former processes may finish work beside the current one. */
const MAX_FINISHING = 2;

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
  /** Kills the process, also if it is stopping. */
  kill(): void;
}

/** How a process is started. */
interface Restarting {
  start(): GuardedProcess;
  /** Whether no process listens on the ports of the app. */
  arePortsFree(): Promise<boolean>;
  /** Prints a line. */
  announce(line: string): void;
}

/** Says what has happened to a process that nobody asked to stop. @param code 128 and the number of the signal if one killed it */
function describeExit(code: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  if (signal !== undefined) return `The app was killed by ${signal}. Save a file to start it again.`;
  return code === 0 ? 'The app has ended. Save a file to start it again.' : 'Waiting for a file change.';
}

/**
 * Starts a process and restarts it when a file of the app in one of the folders changes. If it has exited by itself (an error in a
 * declaration), the next change starts it again. A process that still works after a second, on a job or a request, finishes beside its
 * successor. Node's own watch mode loses files that an editor replaces when it saves.
 */
export function restartOnChange(folders: string[], { start, arePortsFree, announce }: Restarting): RestartingProcess {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let work = Promise.resolve();
  /** The processes that were asked to stop, with the promises of their ends. */
  const finishing = new Map<GuardedProcess, Promise<void>>();
  /** Those of them that had started: they finish jobs and requests. */
  const busy = new WeakSet<GuardedProcess>();
  /** Undefined while the process is being restarted: then its exit says nothing. */
  let current: GuardedProcess | undefined = startProcess();

  function startProcess(): GuardedProcess {
    const running = start();
    void running.exited.then((code) => {
      // A change that was detected while it ended restarts it.
      if (running === current && !stopped && timer === undefined) announce(describeExit(code));
    });
    return running;
  }

  function stopCurrent(): void {
    const old = current;
    current = undefined;
    if (old === undefined) return;
    const stop = async () => {
      if (!(await arePortsFree())) busy.add(old);
      await old.stop();
      finishing.delete(old);
    };
    finishing.set(old, stop());
  }

  const canHaveSuccessor = async () =>
    finishing.size <= MAX_FINISHING && [...finishing.keys()].every((each) => busy.has(each)) && (await arePortsFree());

  /** Waits until no former process is left, or until those that are left only finish work. */
  async function waitForFormer(): Promise<void> {
    while (finishing.size > 0 && !stopped) {
      await Promise.race([Promise.all(finishing.values()), sleep(FINISH_MS)]);
      if (finishing.size === 0 || !(await canHaveSuccessor())) continue;
      announce('The former process finishes its jobs and requests meanwhile.');
      return;
    }
  }

  async function restartProcess(): Promise<void> {
    stopCurrent();
    await waitForFormer();
    if (!stopped) current = startProcess();
  }

  const watcher = watch(folders, { ignoreInitial: true });
  watcher.on('all', (_event, file) => {
    if (!IS_PART_OF_APP.test(file)) return;
    clearTimeout(timer);
    stopCurrent();
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
      stopCurrent();
      await watcher.close();
      await Promise.all([work, ...finishing.values()]);
    },
    kill() {
      current?.kill();
      for (const each of finishing.keys()) each.kill();
    },
  };
}
