/**
 * The deprecation of a route or a field: it keeps working, and responses announce that clients should stop using it.
 *
 * @example { since: '2026-11-01', sunset: '2027-06-01', use: 'GET /api/posts/:id/summary' }
 */
export interface Deprecation {
  /** The date of the deprecation, which may be in the future: `2026-11-01`, or `2026-11-01T12:00:00Z`. A date starts at midnight UTC. */
  since: string;
  /** The date after which it may be removed, in the same form. Not before `since`. */
  sunset?: string;
  /** The replacement: a route of the app with its full path (`GET /api/posts/:id`), an http(s) URL or, for a field, another field. */
  use?: string;
  /** The http(s) URL of a page that explains the change. */
  link?: string;
}

const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Returns the Unix seconds of a date of a deprecation; undefined if the text is not a date. */
export function parseDeprecationDate(text: unknown): number | undefined {
  if (typeof text !== 'string' || !DATE.test(text)) return undefined;
  const day = text.slice(0, 10);
  // Date.parse accepts February 30 and makes it March 2.
  const isDay = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  const ms = Date.parse(text);
  return isDay && !Number.isNaN(ms) ? ms / 1000 : undefined;
}

/** What replaces something deprecated. */
export type Replacement = { route: { method: string; path: string } } | { url: string } | { field: string };

/** Parses `use` of a deprecation. */
export function parseReplacement(use: string): Replacement {
  const [, method, path] = /^([A-Z]+) (\/\S*)$/.exec(use) ?? [];
  if (method !== undefined && path !== undefined) return { route: { method, path } };
  return isHttpUrl(use) ? { url: use } : { field: use };
}

/** Whether a value is the text of an http(s) URL. */
export function isHttpUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);
}

/** Describes a deprecation in Markdown, for the OpenAPI document. */
export function describeDeprecation({ since, sunset, use, link }: Deprecation): string {
  return [
    `Deprecated as of ${since}.`,
    ...(use === undefined ? [] : [`Use \`${use}\` instead.`]),
    ...(sunset === undefined ? [] : [`It may be removed after ${sunset}.`]),
    ...(link === undefined ? [] : [`More information: <${new URL(link).href}>.`]),
  ].join(' ');
}
