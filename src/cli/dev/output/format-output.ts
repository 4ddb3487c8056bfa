import { stripVTControlCharacters, styleText } from 'node:util';
import { stripControlCharacters } from '../../terminal/terminal.ts';
import { formatLogLine, parseLogLine } from './log-line.ts';
import { findPlace, formatExcerpt, formatPlace, type OwnCode, type Place } from './source.ts';

/** Parts of a stack, or of a line, may arrive apart. */
const WAIT_MS = 30;

/** The first line that Node.js prints of an uncaught error; the line of the file and a marker follow. */
const UNCAUGHT = /^((?:file:\/\/\/|node:|\/)[^\s()]+:\d+)$/;
/** The last line of an uncaught error. */
const AFTER_UNCAUGHT = /^Node\.js v\d+\.\d+\.\d+$/;
/** A line of Belfry that names the place of an error, and one of the compiler of the pages. */
const ERROR_PLACES = [/^ {2}- .* \(([^\s()]+:\d+(?::\d+)?)\)$/, /^(?: {2}- )?(\S+:\d+:\d+): ERROR: /];

const FRAME =
  /^\s+at (?:.*?\()?((?:file:\/\/\/|node:|[A-Za-z]:\\|\/)?[^\s()]+:\d+(?::\d+)?|<anonymous>|native|index \d+)\)?( \{)?$/;

/** The line of Node.js for frames that the stack of the cause has, too. */
const OMITTED = /^\s+\.\.\. \d+ lines matching cause stack trace \.\.\.$/;

/** Whether a line is one of a stack: `    at check (file:///srv/app/src/app.ts:12:5)`. */
const isFrame = (line: string): boolean => FRAME.test(line) || OMITTED.test(line);

/**
 * Leaves out the frames of a stack within Node.js, Belfry and other packages, and names files relative to the app. A stack without a frame in the
 * app's own code stays whole.
 *
 * @returns `origin`: where the error comes from in the app's own code
 */
function formatStack(frames: readonly string[], code: OwnCode): { origin: Place | undefined; lines: string[] } {
  const own = frames.flatMap((line) => {
    const text = FRAME.exec(line)?.[1];
    const place = text === undefined ? undefined : findPlace(text, code);
    return text === undefined || place === undefined ? [] : [{ place, line: line.replace(text, formatPlace(place)) }];
  });
  if (own[0] === undefined) return { origin: undefined, lines: [...frames] };
  const lines = own.map(({ line }) => line);
  // The fields of the error follow.
  if (frames.at(-1)!.endsWith(' {') && !lines.at(-1)!.endsWith(' {')) lines.push('    {');
  return { origin: own[0].place, lines };
}

/** Formats the output of an app. */
export interface OutputFormatter {
  /** Adds a part of the output. */
  add(text: string): void;
  /** Writes what is left. */
  end(): void;
}

/**
 * Formats what an app prints in development for a person: lines of the log in short, and errors with the line of the app's own code that they come from,
 * without the stack within Node.js and packages. Everything else is written as it is.
 *
 * @param write writes text
 */
export function createOutputFormatter(code: OwnCode, write: (text: string) => void): OutputFormatter {
  let rest = '';
  let timer: NodeJS.Timeout | undefined;
  let frames: string[] = [];
  /** The lines before the message of an uncaught error, while they arrive. */
  let preface: string[] | undefined;
  /** The place that the preface has shown. */
  let shown: string | undefined;
  const print = (line: string) => write(`${line}\n`);

  function showExcerpt(place: Place): void {
    const excerpt = formatExcerpt(place, code.root);
    if (excerpt.length === 0) return;
    print(styleText('cyan', `  ${formatPlace(place)}`));
    for (const row of excerpt) print(row);
  }

  function endFrames(): void {
    if (frames.length === 0) return;
    const { origin, lines } = formatStack(frames, code);
    frames = [];
    if (origin !== undefined && `${origin.file}:${origin.line}` !== shown) showExcerpt(origin);
    shown = undefined;
    for (const line of lines) print(styleText('dim', line));
  }

  function endPreface(): void {
    const [first, ...others] = preface ?? [];
    preface = undefined;
    const place = first === undefined ? undefined : findPlace(first, code);
    if (place === undefined) return;
    shown = `${place.file}:${place.line}`;
    print(styleText('cyan', formatPlace(place)));
    for (const line of others) print(line);
  }

  function addText(line: string, style?: 'red'): void {
    if (preface !== undefined) {
      preface.push(line);
      if (line === '' || preface.length > 5) endPreface();
      return;
    }
    // Node.js colours the frames of errors that an app prints.
    const plain = line.includes('\x1b') ? stripVTControlCharacters(line) : line;
    if (isFrame(plain)) {
      frames.push(plain);
      return;
    }
    endFrames();
    if (UNCAUGHT.test(line)) {
      preface = [line];
      return;
    }
    if (AFTER_UNCAUGHT.test(line)) return;
    print(style === undefined ? line : styleText(style, line));
    const named = ERROR_PLACES.map((pattern) => pattern.exec(line)?.[1]).find((text) => text !== undefined);
    const place = named === undefined ? undefined : findPlace(named, code);
    if (place !== undefined) showExcerpt(place);
  }

  function addLine(line: string): void {
    const fields = parseLogLine(line);
    if (fields === undefined) {
      addText(line);
      return;
    }
    endFrames();
    const formatted = formatLogLine(fields);
    if (formatted !== undefined) print(formatted);
    const { stack, message } = (fields.err ?? {}) as { stack?: unknown; message?: unknown };
    const text = typeof stack === 'string' ? stack : typeof message === 'string' ? message : '';
    if (text !== '') for (const each of text.split('\n')) addText(stripControlCharacters(each), 'red');
    endFrames();
  }

  function endWait(): void {
    endFrames();
    endPreface();
    // A line of the log always ends; other programs also write lines in parts.
    if (rest !== '' && !rest.startsWith('{')) {
      write(rest);
      rest = '';
    }
  }

  return {
    add(text) {
      clearTimeout(timer);
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      for (const line of lines) addLine(line);
      timer = setTimeout(endWait, WAIT_MS);
    },
    end() {
      clearTimeout(timer);
      if (rest !== '') addLine(rest);
      rest = '';
      endWait();
    },
  };
}
