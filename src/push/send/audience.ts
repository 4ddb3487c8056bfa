import { type FindDevices, SIMULATED_PREFIX, tokenHash } from '../../accounts/devices/index.ts';
import type { Executor } from '../../platform/postgres/database.ts';
import type { Audience } from '../message.ts';
import type { TransportDevice } from '../transport.ts';

/** Devices that are looked up and stored at once; the bound of what a send does before it gives control back. */
export const PAGE_DEVICES = 1000;

/** How far an audience is looked up. */
export interface Cursor {
  stage: 'registered' | 'tokens';
  /** Entries of the lists of this stage that are done. */
  done: number;
  /** The last device that was found for the next entries. */
  afterDevice: string | null;
}

/** The entries of an audience that the next page is made of. */
export interface Entries extends Audience {
  /** Of the longer of the lists of users and devices. */
  registered: number;
  /** Raw tokens. */
  raw: number;
}

/** Devices of an audience, each once. */
export interface Page {
  devices: TransportDevice[];
  /** Where the next page begins; undefined: there is none. */
  next: Cursor | undefined;
}

/** Where every audience begins. */
export const START: Cursor = { stage: 'registered', done: 0, afterDevice: null };

/** The entries of an audience's first page. */
export function firstEntries({ userIds, deviceIds, tokens, platform }: Audience): Entries {
  return {
    userIds: userIds.slice(0, PAGE_DEVICES),
    deviceIds: deviceIds.slice(0, PAGE_DEVICES),
    tokens: tokens.slice(0, PAGE_DEVICES),
    platform,
    registered: Math.max(userIds.length, deviceIds.length),
    raw: tokens.length,
  };
}

/** Where the registered devices go on; undefined: that was the last. `afterDevice`: these entries have more behind it. */
function afterRegistered({ registered }: Entries, cursor: Cursor, afterDevice: string | undefined): Cursor | undefined {
  if (afterDevice !== undefined) return { ...cursor, afterDevice };
  const done = cursor.done + PAGE_DEVICES;
  return done < registered ? { stage: 'registered', done, afterDevice: null } : undefined;
}

/** Raw tokens as devices, without those that are in `registered`: these are sent to as the devices that they are. */
function rawDevices({ tokens, platform }: Entries, registered: readonly TransportDevice[]): TransportDevice[] {
  if (tokens.length === 0) return [];
  const known = new Set(registered.map((device) => tokenHash(device.token)));
  const devices: TransportDevice[] = [];
  for (const token of tokens) {
    const hash = tokenHash(token);
    if (known.has(hash)) continue;
    known.add(hash);
    devices.push({ id: null, platform, token, user: null, locale: null });
  }
  return devices;
}

/**
 * Looks up the next page of an audience: registered devices in order, then raw tokens. It holds up to twice `PAGE_DEVICES`, and
 * may be empty though there is a next one.
 *
 * @param options `simulated`: whether simulated devices are sent to. `findDevices`: looks up registered ones
 */
export async function lookUp(
  database: Executor,
  entries: Entries,
  cursor: Cursor,
  { simulated, findDevices }: { simulated: boolean; findDevices: FindDevices },
): Promise<Page> {
  const registered: TransportDevice[] = [];
  if (cursor.stage === 'registered') {
    // One more tells whether there are more.
    const page = { after: cursor.afterDevice, limit: PAGE_DEVICES + 1 };
    const ahead = await findDevices(database, entries, page);
    const found = ahead.slice(0, PAGE_DEVICES);
    for (const { userId, expired, ...device } of found) {
      if (expired || (!simulated && device.token.startsWith(SIMULATED_PREFIX))) continue;
      registered.push({ ...device, user: userId });
    }
    const next = afterRegistered(entries, cursor, ahead.length > PAGE_DEVICES ? found.at(-1)!.id : undefined);
    if (next !== undefined) return { devices: registered, next };
  }
  const done = (cursor.stage === 'tokens' ? cursor.done : 0) + PAGE_DEVICES;
  const next: Cursor | undefined = done < entries.raw ? { stage: 'tokens', done, afterDevice: null } : undefined;
  return { devices: [...registered, ...rawDevices(entries, registered)], next };
}
