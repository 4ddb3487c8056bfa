import { signal } from '@preact/signals';
import { app, call, readStored, readToken } from 'belfry/console';

/**
 * As which caller the page sends requests. It is kept until this browser tab is closed.
 *
 * @typedef {{ kind: 'visitor' | 'console' | 'token' | 'session', label: string, token?: string }} Caller `console`: the session of the console
 *   itself, in production; `token`: one that the user pasted; `session`: one that this page has started, and ends
 */

const KEY = 'belfry.console.reference.caller';
const VISITOR = { kind: 'visitor', label: 'Visitor' };
const CONSOLE = { kind: 'console', label: 'Your session' };
const KINDS = ['visitor', 'console', 'token', 'session'];

const isProduction = () => app.value?.mode === 'production';

const stored = readStored(KEY);
const chosen = signal(KINDS.includes(stored?.kind) && typeof stored.label === 'string' ? stored : undefined);

/** @returns {Caller} */
export function caller() {
  if (chosen.value !== undefined && (chosen.value.kind !== 'console' || isProduction())) return chosen.value;
  return isProduction() ? CONSOLE : VISITOR;
}

/** The choices that need nothing else. */
export const simpleCallers = () => (isProduction() ? [CONSOLE, VISITOR] : [VISITOR]);

/** The token that requests send. @returns {string | undefined} */
export const callerToken = () => (caller().kind === 'console' ? readToken() : caller().token);

/** Ends a session that this page has started. If that fails, the session ends by itself later. */
async function endSession({ kind, token }) {
  if (kind !== 'session') return;
  const headers = { Authorization: `Bearer ${token}` };
  await fetch('/api/auth/logout', { method: 'POST', headers, credentials: 'omit' }).catch(() => undefined);
}

/** Chooses a caller, and ends the session of the former one. @param {Caller} next */
export function chooseCaller(next) {
  const before = caller();
  if (next.kind === 'visitor' && !isProduction()) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify(next));
  chosen.value = next;
  if (before.token !== next.token) endSession(before);
}

/** Sends requests with a token or an API key. */
export const usePastedToken = (token) =>
  chooseCaller({ kind: 'token', label: `Token ${token.slice(0, 10)}…`, token: token.trim() });

/** The caller of a new session. @throws Error if the sign-in needs a further step, which this page does not have */
function callerOf({ user, token }) {
  if (token === undefined)
    throw new Error('This sign-in needs a second factor. Sign in elsewhere, and paste the token of the session.');
  return { kind: 'session', label: user.name ?? user.email ?? user.id, token };
}

/** Signs in as a user with a password, as clients do. @throws RequestError */
export async function signIn(credentials) {
  const response = await fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(credentials),
    credentials: 'omit',
  });
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(content.error?.message ?? 'The server did not respond as expected.');
  chooseCaller(callerOf(content.data));
}

/** Starts a session of a user, in development. @throws RequestError */
export async function startSession(user) {
  const { data } = await call('/reference/session', { method: 'POST', body: { user } });
  chooseCaller(callerOf(data));
}
