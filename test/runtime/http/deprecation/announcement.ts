import type { ApiResponse } from '../../../support/app.ts';

/** What a response announces; undefined if it has no header of an announcement. */
export function announcementOf({ headers }: Pick<ApiResponse, 'headers'>) {
  if (!['deprecation', 'sunset', 'link'].some((name) => headers.has(name))) return undefined;
  const deprecation = headers.get('deprecation');
  const links = headers.get('link');
  return {
    deprecation,
    sunset: headers.get('sunset') ?? undefined,
    links: links === null ? [] : links.split(', '),
  };
}

/** The value of `Deprecation` for a day. */
export const atMidnight = (day: string) => `@${Date.parse(`${day}T00:00:00Z`) / 1000}`;
