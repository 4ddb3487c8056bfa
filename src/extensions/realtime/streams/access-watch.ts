import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Auth,
  type Authenticator,
  type ExtensionHost,
  getCredentialWatch,
  getOrganisationRole,
  isAccountActive,
  isEmailVerified,
  quoteIdentifier,
  type StoredRecord,
  type Viewer,
} from '../../../extension/index.ts';
import type { CurrentViewer, Listener } from '../fan-out/groups.ts';

/**
 * Finds the users that have changed or were deleted. $1 user ids, $2 the known version (xmin) of each user's row: arrays. Returns id,
 * version and columns of each changed user; for a deleted user, the version is null.
 *
 * @param users the quoted name of the users table
 * @param columns SQL that selects columns of the user `u`
 */
const changedUsersSql = (users: string, columns: string) => `
  select known.id, u.xmin::text, ${columns}
  from unnest($1::text[], $2::text[]) as known(id, version) left join ${users} u on u.id = known.id
  where u.id is null or u.xmin::text <> known.version`;

/** Ends the open streams of users who have lost access. */
export interface AccessWatch {
  /** Returns the viewer that all streams of a user share. */
  sharedViewerOf(user: Viewer | undefined): CurrentViewer;
  /** Watches a stream: ends it when its session or key ends, or its user is disabled, deleted, or loses a role. */
  watchListener(listener: Listener, auth: Auth): void;
  stop(): Promise<void>;
}

/** Whether a user has lost a role, or is no longer known to own their e-mail address. */
function hasLostPrivilege(before: Viewer, now: Viewer): boolean {
  if (isEmailVerified(before) && !isEmailVerified(now)) return true;
  return before.roles?.some((role) => now.roles?.includes(role) !== true) ?? false;
}

interface WatchedUser {
  viewer: CurrentViewer;
  /** The version of the user's row (xmin) at the last check; empty before the first check. */
  version: string;
  /** The user's streams with the sessions or keys that opened them. */
  listeners: Map<Listener, Auth>;
}

type UserRow = [id: string, version: string | null, ...columns: unknown[]];

// ms between two checks, so that a stream ends within a second after its user has lost access.
const EVERY_MS = 400;

/**
 * Creates the watch. While users have open streams, it polls the database for changed users and ended credentials with three small
 * queries, regardless of the number of streams. Most of these queries return no rows. The watch does not need Redis.
 *
 * @param onChanged called for each listener whose user has changed but is still active
 */
export function createAccessWatch(
  host: Pick<ExtensionHost, 'database' | 'users' | 'log'>,
  onChanged: (listener: Listener) => void,
): AccessWatch {
  const { database, users, log } = host;
  const text = users && changedUsersSql(quoteIdentifier(users.table), users.columns('u'));
  // JSON.stringify of a record leaves out restricted fields such as roles, so name all fields.
  const names = ['id', ...Object.keys(users?.declaration.fields ?? {})];
  const fingerprintOf = (user: Viewer) => JSON.stringify(names.map((name) => user[name]));
  const watched = new Map<string, WatchedUser>();
  let running: Promise<void> | undefined;
  let stopped = false;
  let failing = false;

  async function readChangedUsers(): Promise<UserRow[]> {
    // An organisation with an API key of its own does not change; its streams end with the key.
    const known = [...watched].filter(([, { viewer }]) => getOrganisationRole(viewer.user) === undefined);
    if (known.length === 0) return [];
    const values = [known.map(([id]) => id), known.map(([, { version }]) => version)];
    return database.read<UserRow>({ name: 'realtime_users', text: text!, values });
  }

  async function findEndedCredentials(): Promise<Set<Auth>> {
    const open = new Map<NonNullable<Authenticator['watch']>, Auth[]>();
    for (const { listeners } of watched.values()) {
      for (const auth of listeners.values()) {
        const watch = getCredentialWatch(auth);
        if (watch === undefined) continue;
        const auths = open.get(watch);
        if (auths === undefined) open.set(watch, [auth]);
        else auths.push(auth);
      }
    }
    const checks = Array.from(open, async ([watch, auths]) => {
      const byId = Map.groupBy(auths, ({ id }) => id);
      return (await watch.ended([...byId.keys()])).flatMap((id) => byId.get(id) ?? []);
    });
    return new Set((await Promise.all(checks)).flat());
  }

  function endStreamsOfUser({ listeners }: WatchedUser, reason: 'signed_out' | 'access_changed'): void {
    for (const { stream } of listeners.keys()) stream.end(reason);
  }

  function updateViewerOrEndStreams([id, version, ...columns]: UserRow): void {
    const entry = watched.get(id);
    if (entry === undefined) return;
    if (version === null) {
      endStreamsOfUser(entry, 'signed_out');
      return;
    }
    entry.version = version;
    const before = entry.viewer.user!;
    const user: StoredRecord & Viewer = users!.fromRow(columns);
    if (fingerprintOf(user) === fingerprintOf(before)) return;
    entry.viewer.user = user;
    if (!isAccountActive(user)) endStreamsOfUser(entry, 'signed_out');
    else if (hasLostPrivilege(before, user)) endStreamsOfUser(entry, 'access_changed');
    else for (const listener of entry.listeners.keys()) onChanged(listener);
  }

  async function endStreamsWithoutAccess(): Promise<void> {
    const [rows, ended] = await Promise.all([readChangedUsers(), findEndedCredentials()]);
    for (const row of rows) updateViewerOrEndStreams(row);
    if (ended.size === 0) return;
    for (const { listeners } of watched.values()) {
      for (const [{ stream }, auth] of listeners) if (ended.has(auth)) stream.end('signed_out');
    }
  }

  async function pollWhileStreamsAreOpen(): Promise<void> {
    while (watched.size > 0 && !stopped) {
      try {
        await endStreamsWithoutAccess();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'Could not check the users of open streams');
        failing = true;
      }
      await sleep(EVERY_MS, undefined, { ref: false });
    }
    running = undefined;
  }

  return {
    sharedViewerOf: (user) => (user && watched.get(user.id)?.viewer) ?? { user },
    watchListener(listener, auth) {
      const { user } = listener.viewer;
      const entry = watched.get(user!.id) ?? { viewer: listener.viewer, version: '', listeners: new Map() };
      watched.set(user!.id, entry);
      listener.viewer = entry.viewer;
      entry.listeners.set(listener, auth);
      listener.stream.onClose(() => {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && watched.get(user!.id) === entry) watched.delete(user!.id);
      });
      running ??= pollWhileStreamsAreOpen();
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}
