import { useState } from 'preact/hooks';
import {
  app,
  call,
  Page,
  place,
  ReferencePicker,
  readStored,
  readToken,
  setParams,
  userResource,
} from '../../console/kit.ts';
import { isObject, type RateLimit } from '../../reference/document.ts';
import type { Site } from '../../reference/reference.ts';
import {
  type Caller,
  type ChoiceProps,
  createCallers,
  type SimpleCaller,
  type StartedSession,
  sessionCaller,
  VISITOR,
} from '../../reference/runner/caller.ts';
import { texts } from './texts.ts';

export const HOME = '/console/reference';

/** The key of the caller, which is kept until this browser tab is closed. */
const KEY = 'belfry.console.reference.caller';

const OWN_SESSION: SimpleCaller = {
  kind: 'console',
  label: texts.callers.own,
  explanation: texts.callers.ownText,
};

/** Returns the caller that was chosen before in this browser tab. */
function readCaller(simple: readonly SimpleCaller[]): Caller | undefined {
  const stored = readStored(KEY);
  if (!isObject(stored)) return undefined;
  const { kind, label, token } = stored;
  if ((kind === 'token' || kind === 'session') && typeof label === 'string' && typeof token === 'string')
    return { kind, label, token };
  return simple.find((one) => one.kind === kind);
}

function createConsoleCallers() {
  const simple: [SimpleCaller, ...SimpleCaller[]] =
    app.value.mode === 'production' ? [OWN_SESSION, VISITOR] : [VISITOR];
  return createCallers({
    simple,
    stored: readCaller(simple),
    store(next) {
      if (next === simple[0]) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, JSON.stringify(next));
    },
    readOwnToken: readToken,
  });
}

/** Starts a session of a user, in development. @throws RequestError */
async function startSession(user: string): Promise<Caller> {
  const { data } = await call<StartedSession>('/reference/session', { method: 'POST', body: { user } });
  return sessionCaller(data);
}

function UserSession({ callers, isBusy, choose }: ChoiceProps) {
  const users = userResource();
  const [user, setUser] = useState<{ id: string; label?: string }>();
  if (users === undefined) return null;
  return (
    <section class="reference-choice">
      <h3>
        <label for="reference-user">{texts.callers.user}</label>
      </h3>
      <p class="soft">{texts.callers.userText}</p>
      <div class="reference-row">
        <ReferencePicker
          id="reference-user"
          resource={users.name}
          value={user?.id}
          label={user?.label}
          onChange={(id, label) => setUser({ id, label })}
        />
        <button
          type="button"
          disabled={isBusy || user === undefined}
          onClick={() => user && choose(async () => callers.choose(await startSession(user.id)))}
        >
          {texts.callers.start}
        </button>
      </div>
    </section>
  );
}

/** What the site of the console needs to know about the app. */
interface SiteFacts {
  limits: { all: RateLimit | null };
  canStartSession: boolean;
}

/** Creates the site of the reference in the console. */
export function createConsoleSite({ limits, canStartSession }: SiteFacts): Site {
  return {
    home: HOME,
    place,
    search: (q) => setParams({ q }, { replace: true }),
    Page,
    callers: createConsoleCallers(),
    CallerChoice: canStartSession ? UserSession : undefined,
    tokenText: texts.callers.tokenText,
    totalLimit: limits.all,
    warnsOfProduction: app.value.mode === 'production',
  };
}
