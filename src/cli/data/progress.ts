import { formatCount } from '../terminal/terminal.ts';

const BAR_WIDTH = 30;
/** ms between two updates of a terminal, and between two lines otherwise. */
const UPDATE_MS = 100;
const LINE_MS = 5000;

/** The progress of a command, on standard error, because its output may be the data itself. */
interface Progress {
  /**
   * @param rows the rows so far
   * @param done the finished part, from 0 to 1; undefined if the total is unknown
   */
  update(rows: number, done?: number): void;
  /** Ends the line of the bar. */
  end(): void;
}

/** Creates the progress: a bar on a terminal, otherwise a line every five seconds. */
export function createProgress(): Progress {
  const isTerminal = process.stderr.isTTY === true;
  let last = performance.now();
  let isDrawn = false;
  return {
    update(rows, done) {
      const now = performance.now();
      if (now - last < (isTerminal ? UPDATE_MS : LINE_MS)) return;
      last = now;
      const percent = done === undefined ? '' : `${Math.min(100, Math.round(done * 100))} %`;
      const text = `${formatCount(rows)} rows`;
      if (!isTerminal) {
        console.error(percent === '' ? text : `${text}, ${percent}`);
        return;
      }
      const filled = Math.round(Math.min(1, done ?? 0) * BAR_WIDTH);
      const bar = done === undefined ? '' : `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${percent} `;
      process.stderr.write(`\r${bar}${text}`);
      isDrawn = true;
    },
    end() {
      if (isDrawn) process.stderr.write('\n');
    },
  };
}
