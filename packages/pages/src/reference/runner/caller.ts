import { type ReadonlySignal, signal } from '@preact/signals';
import { texts } from '../texts.ts';

/** A caller that needs no input. */
export interface SimpleCaller {
  /** `console`: the session of the page that contains the reference. */
  kind: 'visitor' | 'console';
  label: string;
  explanation: string;
}

/** A caller with a token. `session`: one that this page has started, and ends. */
export interface TokenCaller {
  kind: 'token' | 'session';
  label: string;
  token: string;
}

/** As which caller requests are sent. */
export type Caller = SimpleCaller | TokenCaller;

export const VISITOR: SimpleCaller = {
  kind: 'visitor',
  label: texts.callers.visitor,
  explanation: texts.callers.visitorText,
};

/** Ends a session that this page has started. If that fails, the session ends by itself later. */
async function endSession({ token }: TokenCaller): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  await fetch('/api/auth/logout', { method: 'POST', headers, credentials: 'omit' }).catch(() => undefined);
}

/** The current caller, and the choices. */
export interface Callers {
  current: ReadonlySignal<Caller>;
  /** The first one is the default. */
  simple: readonly [SimpleCaller, ...SimpleCaller[]];
  /** Chooses a caller, and ends the session of the former one. */
  choose: (next: Caller) => void;
  /** The token that requests send. */
  readToken: () => string | undefined;
}

/** What a choice in the dialog gets. */
export interface ChoiceProps {
  callers: Callers;
  isBusy: boolean;
  /** Runs an action that chooses a caller, and closes the dialog if it succeeds. */
  choose: (run: () => Promise<void>) => Promise<void>;
}

interface CallersOptions {
  /** Default: only visitors. */
  simple?: Callers['simple'];
  /** The caller that was chosen before. */
  stored?: Caller | undefined;
  /** Keeps the choice. Default: it is forgotten when the page closes. */
  store?: (next: Caller) => void;
  /** The token of the caller `console`. */
  readOwnToken?: () => string | undefined;
}

export function createCallers({
  simple = [VISITOR],
  stored,
  store = () => {},
  readOwnToken = () => undefined,
}: CallersOptions = {}): Callers {
  const current = signal<Caller>(stored ?? simple[0]);
  return {
    current,
    simple,
    choose(next) {
      const before = current.value;
      store(next);
      current.value = next;
      const isSame = 'token' in next && 'token' in before && next.token === before.token;
      if (before.kind === 'session' && !isSame) endSession(before);
    },
    readToken() {
      if ('token' in current.value) return current.value.token;
      return current.value.kind === 'console' ? readOwnToken() : undefined;
    },
  };
}

/** The caller with a token or an API key that the user has pasted. */
export const pastedToken = (token: string): Caller => ({
  kind: 'token',
  label: texts.callers.token.name(token.slice(0, 10)),
  token: token.trim(),
});

/** What the app returns for a sign-in. */
export interface StartedSession {
  user: { id: string; name?: string; email?: string };
  /** Left out if the sign-in needs a further step. */
  token?: string;
}

/** The caller of a new session. @throws Error if the sign-in needs a further step, which this page does not have */
export function sessionCaller({ user, token }: StartedSession): Caller {
  if (token === undefined) throw new Error(texts.callers.secondFactor);
  return { kind: 'session', label: user.name ?? user.email ?? user.id, token };
}

/** Signs in as a user with a password, as clients do. @throws Error */
export async function signIn(credentials: { email: string; password: string }): Promise<Caller> {
  const response = await fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(credentials),
    credentials: 'omit',
  });
  const content: { data?: StartedSession; error?: { message: string } } = await response.json().catch(() => ({}));
  if (content.data === undefined) throw new Error(content.error?.message ?? texts.errors.unexpected);
  return sessionCaller(content.data);
}
