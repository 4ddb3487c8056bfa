import { findPlace, formatPlace, type OwnCode, type Place } from './source.ts';

const FRAME =
  /^\s+at (?:.*?\()?((?:file:\/\/\/|node:|[A-Za-z]:\\|\/)?[^\s()]+:\d+(?::\d+)?|<anonymous>|native|index \d+)\)?( \{)?$/;

/** The line of Node.js for frames that the stack of the cause has, too. */
const OMITTED = /^\s+\.\.\. \d+ lines matching cause stack trace \.\.\.$/;

/** Whether a line is one of a stack: `    at check (file:///srv/app/src/app.ts:12:5)`. */
export const isFrame = (line: string): boolean => FRAME.test(line) || OMITTED.test(line);

/**
 * Leaves out the frames of a stack within Node.js, Belfry and other packages, and names files relative to the app. A stack without a frame in the
 * app's own code stays whole.
 *
 * @returns `origin`: where the error comes from in the app's own code
 */
export function formatStack(frames: readonly string[], code: OwnCode): { origin: Place | undefined; lines: string[] } {
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
