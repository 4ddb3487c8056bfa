import { isStorable } from '../platform/data/postgres/values.ts';

/** Minimum ms between two writes of the progress of a run. */
const STORE_EVERY_MS = 1000;
const MAX_NOTE_LENGTH = 200;

/** The progress of one run. */
export interface Progress {
  report(done: number, total?: number, note?: string): void;
  /** Ends the reports, waits for a write in progress, and returns the last report as JSON if it is not stored yet. */
  end(): Promise<string | null>;
}

const isCount = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;

function assertReport(done: number, total: number | undefined, note: string | undefined): void {
  if (!isCount(done) || !(total === undefined || isCount(total)))
    throw new TypeError('progress(done, total, note): done and total must be numbers from 0');
  if (note !== undefined && !(typeof note === 'string' && note.length <= MAX_NOTE_LENGTH && isStorable(note)))
    throw new TypeError(
      `progress(done, total, note): the note must be a text of at most ${MAX_NOTE_LENGTH} characters, without NUL or broken characters`,
    );
}

/**
 * Creates the progress of a run. Writes follow each other, and only the latest report is written, so they are stored in order.
 *
 * @param store writes the JSON of a report. Errors are ignored: the next report, or the end of the run, stores more
 */
export function createProgress(store: (report: string) => Promise<void>): Progress {
  let latest: string | null = null;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  async function writeLatest(): Promise<void> {
    const report = latest!;
    latest = null;
    await store(report).catch(() => undefined);
    writing = undefined;
    if (!ended) timer = setTimeout(writeIfReported, STORE_EVERY_MS).unref();
  }

  function writeIfReported(): void {
    timer = undefined;
    if (latest !== null && !ended) writing = writeLatest();
  }

  return {
    report(done, total, note) {
      assertReport(done, total, note);
      if (ended) return;
      latest = JSON.stringify({ done, total, note });
      if (writing === undefined && timer === undefined) writeIfReported();
    },
    async end() {
      ended = true;
      clearTimeout(timer);
      await writing;
      return latest;
    },
  };
}
