import { readFileSync } from 'node:fs';
import pg from 'pg';

/** The ticks per second of /proc on all common systems (USER_HZ). */
const TICKS_PER_SECOND = 100;

/** Returns the numbers of /proc/<pid>/stat from the parent's pid on (proc_pid_stat(5)). The name before them may contain blanks. */
function readStat(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text
    .slice(text.lastIndexOf(')') + 4)
    .split(' ')
    .map(Number);
}

/** Returns the µs that a process with one thread has run. 0 if it has ended. */
function readMicros(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1000;
  } catch {
    return 0;
  }
}

/** Reads the CPU time of a Postgres on this machine. */
export interface PostgresCpu {
  /** Returns the µs that its processes have used, those that have ended included. */
  read(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Opens a connection that lists the processes of a Postgres. Returns undefined if their CPU time cannot be read: on systems without /proc, or
 * if Postgres runs in a container.
 *
 * It counts the whole server, because the sides take turns. Time of processes that end is kept in the total of their parent; for a
 * single database it would be lost.
 */
export async function openPostgresCpu(databaseUrl: string): Promise<PostgresCpu | undefined> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // After Ctrl-C, Postgres ends first.
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  try {
    const backend = rows[0]!.pid;
    if (!readFileSync(`/proc/${backend}/cmdline`, 'latin1').startsWith('postgres')) throw new Error('another process');
    const [server = 0] = readStat(backend);
    // A checkpoint belongs to no round. This connection is not part of what is measured.
    const query = `select pid from pg_stat_activity where backend_type <> 'checkpointer' and pid <> pg_backend_pid()`;
    return {
      async read() {
        const { rows: processes } = await client.query<{ pid: number }>(query);
        // utime, stime, cutime and cstime.
        const ticks = readStat(server)
          .slice(10, 14)
          .reduce((sum, value) => sum + value, 0);
        const running = processes.reduce((sum, { pid }) => sum + readMicros(pid), 0);
        return running + (ticks * 1_000_000) / TICKS_PER_SECOND;
      },
      close: () => client.end(),
    };
  } catch {
    await client.end();
    return undefined;
  }
}
