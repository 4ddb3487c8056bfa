import { expect, test } from 'vitest';
import type { Auth } from '../../src/declare/route.ts';
import { acceptedScopes, isScope } from '../../src/declare/scope.ts';
import { createScopeCheck } from '../../src/rules/credential-scopes.ts';

const handler = () => undefined;

test.each(['a', 'posts:publish', 'posts:drafts:publish', 'v1.posts:read_all', '0-9:x'])(
  '%j is a valid scope',
  (scope) => {
    expect(isScope(scope)).toBe(true);
  },
);

test.each(['', ':', 'posts:', ':publish', 'posts::publish', 'posts:*', '*', '-posts', 'posts publish', 'a\n', 5, null])(
  '%j is not a valid scope',
  (scope) => {
    expect(isScope(scope)).toBe(false);
  },
);

test.each<[string, string, string | undefined, string[]]>([
  ['GET', '/notes', undefined, ['notes:read', 'notes:*', 'read', '*']],
  ['POST', '/notes/:id/pin', undefined, ['notes:write', 'notes:*', '*']],
  ['DELETE', '/notes/:id', undefined, ['notes:write', 'notes:*', '*']],
  ['POST', '/notes/:id/pin', 'notes:pin', ['notes:pin', 'notes:*', '*']],
  ['GET', '/notes/export', 'files:notes:export', ['files:notes:export', 'files:*', '*']],
  // A scope without a colon belongs to no group, so no group scope grants it.
  ['GET', '/notes/export', 'export', ['export', '*']],
  ['GET', '/openapi.json', undefined, ['read', '*']],
  ['GET', '/:any', undefined, ['read', '*']],
  ['POST', '/', undefined, ['*']],
  // Below /auth only GET /auth/me accepts credentials other than sessions, whatever scope the route declares.
  ['GET', '/auth/me', undefined, ['auth:read', 'read', '*']],
  ['GET', '/auth/me/more', undefined, []],
  ['PATCH', '/auth/me', undefined, []],
  ['GET', '/auth/sessions', 'sessions:read', []],
  ['GET', '/authors', undefined, ['authors:read', 'authors:*', 'read', '*']],
  ['GET', '/notes', 'auth:read', ['auth:read', '*']],
])('%s %s with the route scope %s is granted by %j', (method, path, own, needed) => {
  expect(acceptedScopes({ method: method as 'GET', path }, own)).toEqual(needed);
});

test('without an authenticator that supports scopes, a session is accepted and an API key needs a scope of the route', () => {
  const session: Auth = { via: 'session', scopes: [], id: 's' };
  const keyWith = (...scopes: string[]): Auth => ({ via: 'api-key', scopes, id: 'k' });
  const check = createScopeCheck({ method: 'GET', path: '/notes', handler }, []);
  expect(() => check(session)).not.toThrow();
  expect(() => check(keyWith('notes:*'))).not.toThrow();
  expect(() => check(keyWith())).toThrow('This needs the scope "notes:read"');
  expect(() => check(keyWith('notes:write'))).toThrow('This needs the scope "notes:read"');
  const forSessions = createScopeCheck({ method: 'GET', path: '/auth/sessions', handler }, []);
  expect(() => forSessions(session)).not.toThrow();
  expect(() => forSessions(keyWith('*'))).toThrow('An API key cannot be used here');
});
