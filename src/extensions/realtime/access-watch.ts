import { setTimeout as sleep } from 'node:timers/promises';
import { isActive } from '../../declare/actor.ts';
import type { Authenticator } from '../../declare/authenticator.ts';
import { watchOf } from '../../declare/authenticator.ts';
import type { ExtensionHost } from '../../declare/extension.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Auth } from '../../declare/route.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import type { Listener, Person } from './groups.ts';
import { changedUsers } from './sql.ts';

/** Ends open streams of users who may no longer have them. */
export interface AccessWatch {
  /** The one person behind all streams of a user. */
  personOf(user: Viewer | undefined): Person;
  /** Ends the stream as soon as its session or key is over, or its user is disabled, gone, or has lost a role. */
  add(listener: Listener, auth: Auth): void;
  stop(): Promise<void>;
}

interface Watched {
  person: Person;
  /** The user's row as it was last seen; empty: not yet. */
  version: string;
  /** With the sessions or keys that opened them. */
  listeners: Map<Listener, Auth>;
}

type UserRow = [id: string, version: string | null, ...columns: unknown[]];

// With the question itself this stays below a second.
const EVERY_MS = 400;

/**
 * Asks the database, while streams of signed-in users are open, who of them is no longer as they were: three small questions at once,
 * however many streams there are, of which most answers are empty. It needs no Redis.
 *
 * @param changed told of each listener whose user has changed and may go on
 */
export function createAccessWatch(
  host: Pick<ExtensionHost, 'database' | 'users' | 'log'>,
  changed: (listener: Listener) => void,
): AccessWatch {
  const { database, users, log } = host;
  const text = users && changedUsers(quoteIdentifier(users.table), users.columns('u'));
  // A record's JSON leaves out what not everybody may see: roles, for one.
  const names = ['id', ...Object.keys(users?.declaration.fields ?? {})];
  const asText = (user: Viewer) => JSON.stringify(names.map((name) => user[name]));
  const watched = new Map<string, Watched>();
  let running: Promise<void> | undefined;
  let stopped = false;
  let failing = false;

  async function changedPeople(): Promise<UserRow[]> {
    const values = [[...watched.keys()], [...watched.values()].map(({ version }) => version)];
    return database.read<UserRow>({ name: 'realtime_users', text: text!, values });
  }

  async function endedCredentials(): Promise<Set<Auth>> {
    const open = new Map<NonNullable<Authenticator['watch']>, Auth[]>();
    for (const { listeners } of watched.values()) {
      for (const auth of listeners.values()) {
        const watch = watchOf(auth);
        if (watch === undefined) continue;
        const auths = open.get(watch);
        if (auths === undefined) open.set(watch, [auth]);
        else auths.push(auth);
      }
    }
    const asked = Array.from(open, async ([watch, auths]) => {
      const byId = Map.groupBy(auths, ({ id }) => id);
      return (await watch.ended([...byId.keys()])).flatMap((id) => byId.get(id) ?? []);
    });
    return new Set((await Promise.all(asked)).flat());
  }

  function endAll({ listeners }: Watched, reason: 'signed_out' | 'access_changed'): void {
    for (const { stream } of listeners.keys()) stream.end(reason);
  }

  function look([id, version, ...columns]: UserRow): void {
    const known = watched.get(id);
    if (known === undefined) return;
    if (version === null) {
      endAll(known, 'signed_out');
      return;
    }
    known.version = version;
    const before = known.person.user!;
    const user: StoredRecord & Viewer = users!.fromRow(columns);
    if (asText(user) === asText(before)) return;
    known.person.user = user;
    if (!isActive(user)) endAll(known, 'signed_out');
    else if (before.roles?.some((role) => user.roles?.includes(role) !== true)) endAll(known, 'access_changed');
    else for (const listener of known.listeners.keys()) changed(listener);
  }

  async function check(): Promise<void> {
    const [rows, ended] = await Promise.all([changedPeople(), endedCredentials()]);
    for (const row of rows) look(row);
    if (ended.size === 0) return;
    for (const { listeners } of watched.values()) {
      for (const [{ stream }, auth] of listeners) if (ended.has(auth)) stream.end('signed_out');
    }
  }

  async function run(): Promise<void> {
    while (watched.size > 0 && !stopped) {
      try {
        await check();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'who is behind open streams cannot be looked up');
        failing = true;
      }
      await sleep(EVERY_MS, undefined, { ref: false });
    }
    running = undefined;
  }

  return {
    personOf: (user) => (user && watched.get(user.id)?.person) ?? { user },
    add(listener, auth) {
      const { user } = listener.person;
      const known = watched.get(user!.id) ?? { person: listener.person, version: '', listeners: new Map() };
      watched.set(user!.id, known);
      listener.person = known.person;
      known.listeners.set(listener, auth);
      listener.stream.onClose(() => {
        known.listeners.delete(listener);
        if (known.listeners.size === 0 && watched.get(user!.id) === known) watched.delete(user!.id);
      });
      running ??= run();
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}
