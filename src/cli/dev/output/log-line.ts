import { styleText } from 'node:util';
import { stripControlCharacters } from '../../terminal/terminal.ts';

type Fields = Record<string, unknown>;
type Style = Parameters<typeof styleText>[0];

const LEVEL_STYLES: Record<string, Style> = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: ['bold', 'red'],
};

/** What every line has, what is shown in another way, and ids that connect lines of several processes. */
const HIDDEN = new Set(
  'level time msg process pid hostname err durationMs outcome requestId trace_id span_id via credential sampleRate'.split(
    ' ',
  ),
);
const MAX_FIELDS = 6;
const MAX_VALUE_LENGTH = 80;

/** Requests of Belfry's own pages, which poll, and of the files of pages. */
const QUIET_ROUTE = /^\/(?:console|api\/docs)(?:\/|$)|^(?!\/api\/).*\/assets\/:file$/;

/** Parses a line of Belfry's logger; undefined for other output. */
export function parseLogLine(line: string): Fields | undefined {
  if (!line.startsWith('{"level":"')) return undefined;
  try {
    const fields: Fields = JSON.parse(line);
    return typeof fields.time === 'string' && Object.hasOwn(LEVEL_STYLES, String(fields.level)) ? fields : undefined;
  } catch {
    return undefined;
  }
}

function formatTime(time: unknown): string {
  return styleText('dim', new Date(String(time)).toTimeString().slice(0, 8));
}

function formatValue(value: unknown): string {
  const text = stripControlCharacters(typeof value === 'string' ? value : JSON.stringify(value));
  const cut = text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
  return typeof value === 'string' && /\s|^$/.test(cut) ? JSON.stringify(cut) : cut;
}

/** Formats the fields that the message does not already say, as `name=value`. */
function formatFields(fields: Fields, message: string): string {
  const said = (value: unknown) => message.includes(Array.isArray(value) ? value.join(', ') : String(value));
  const shown = Object.entries(fields).filter(
    ([name, value]) => !HIDDEN.has(name) && value !== null && !(typeof value !== 'boolean' && said(value)),
  );
  const texts = shown
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => `${stripControlCharacters(name)}=${formatValue(value)}`);
  if (shown.length > MAX_FIELDS) texts.push('…');
  return texts.length === 0 ? '' : styleText('dim', texts.join(' '));
}

function formatStatus({ status, outcome }: Fields): string {
  if (typeof status !== 'number') return styleText('yellow', String(outcome));
  const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green';
  return styleText(style, String(status));
}

/** Formats a request: `12:03:04 POST /api/bookings 201 14 ms`. */
function formatRequest(fields: Fields): string {
  const { time, method, route, status, outcome, durationMs, deprecated } = fields;
  const name = stripControlCharacters(route ?? '(no route)');
  const parts = [
    formatTime(time),
    method,
    name,
    formatStatus({ status, outcome }),
    styleText('dim', `${durationMs} ms`),
  ];
  if (deprecated !== undefined) parts.push(styleText('yellow', `deprecated=${formatValue(deprecated)}`));
  return parts.join(' ');
}

/**
 * Formats a line of the log for a person. The stack of an error is not part of it.
 *
 * @returns undefined if the line is not worth showing: a successful request of one of Belfry's own pages
 */
export function formatLogLine(fields: Fields): string | undefined {
  const { level, time, msg, outcome, durationMs, status } = fields;
  if (msg === 'request' && typeof fields.method === 'string') {
    const failed = typeof status === 'number' && status >= 400;
    return !failed && QUIET_ROUTE.test(String(fields.route)) ? undefined : formatRequest(fields);
  }
  const message = stripControlCharacters(msg);
  const parts = [formatTime(time), styleText(LEVEL_STYLES[String(level)]!, String(level).padEnd(5)), message];
  if (outcome !== undefined) parts.push(stripControlCharacters(outcome));
  if (durationMs !== undefined) parts.push(styleText('dim', `${formatValue(durationMs)} ms`));
  parts.push(formatFields(fields, message));
  return parts.filter(Boolean).join(' ');
}
