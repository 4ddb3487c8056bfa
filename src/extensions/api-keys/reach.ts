import type { Route } from '../../declare/route.ts';

const NAME = /^[A-Za-z0-9][\w-]*$/;

/** The name by which scopes call what is below the first segment of a path; undefined when it can have none. */
export function nameOf({ path }: Pick<Route, 'path'>): string | undefined {
  const segment = path.split('/')[1] ?? '';
  return NAME.test(segment) ? segment : undefined;
}

/** Whether keys are never good on a route: of sessions, passwords and keys they may only ask whose they are. */
export function isOutOfReach({ method, path }: Pick<Route, 'method' | 'path'>): boolean {
  return nameOf({ path }) === 'auth' && !(method === 'GET' && path === '/auth/me');
}
