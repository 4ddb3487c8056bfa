import { type FindDevices, hashDeviceToken, SIMULATED_PREFIX } from '../../accounts/devices/index.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import type { Audience } from '../message/message.ts';
import type { TransportDevice } from '../message/transport.ts';

/** Devices that are looked up and stored at once. A call of `send` stores only the first page before it returns. */
export const DEVICES_PER_PAGE = 1000;

/** How far the lookup of an audience has progressed. */
export interface AudienceCursor {
  stage: 'registered' | 'tokens';
  /** Number of entries of the current stage that were processed. */
  done: number;
  /** Id of the last device found for the entries after `done`; null before the first device. */
  afterDevice: string | null;
}

/** The part of an audience where the next page of devices is looked up. */
export interface AudienceEntries extends Audience {
  /** Length of the audience's list of users or of its list of devices, whichever is longer. */
  registered: number;
  /** Number of raw tokens in the whole audience. */
  raw: number;
}

/** One page of the devices of an audience, without duplicates. */
export interface AudiencePage {
  devices: TransportDevice[];
  /** Where the next page starts; undefined on the last page. */
  next: AudienceCursor | undefined;
}

/** The cursor of an audience's first page. */
export const FIRST_PAGE: AudienceCursor = { stage: 'registered', done: 0, afterDevice: null };

/** Returns the part of an audience where the first page of devices is looked up. */
export function takeFirstPageEntries({ userIds, deviceIds, tokens, platform }: Audience): AudienceEntries {
  return {
    userIds: userIds.slice(0, DEVICES_PER_PAGE),
    deviceIds: deviceIds.slice(0, DEVICES_PER_PAGE),
    tokens: tokens.slice(0, DEVICES_PER_PAGE),
    platform,
    registered: Math.max(userIds.length, deviceIds.length),
    raw: tokens.length,
  };
}

/** Returns where the next page of registered devices starts; undefined after the last. @param afterDevice set if the entries have more */
function findNextRegisteredPage(
  { registered }: AudienceEntries,
  cursor: AudienceCursor,
  afterDevice: string | undefined,
): AudienceCursor | undefined {
  if (afterDevice !== undefined) return { ...cursor, afterDevice };
  const done = cursor.done + DEVICES_PER_PAGE;
  return done < registered ? { stage: 'registered', done, afterDevice: null } : undefined;
}

/** Converts raw tokens to devices, without the tokens of devices in `registered`, which get the push as registered devices. */
function toRawDevices(
  { tokens, platform }: AudienceEntries,
  registered: readonly TransportDevice[],
): TransportDevice[] {
  if (tokens.length === 0) return [];
  const known = new Set(registered.map((device) => hashDeviceToken(device.token)));
  const devices: TransportDevice[] = [];
  for (const token of tokens) {
    const hash = hashDeviceToken(token);
    if (known.has(hash)) continue;
    known.add(hash);
    devices.push({ id: null, platform, token, user: null, locale: null });
  }
  return devices;
}

/**
 * Looks up the next page of an audience: registered devices in order, then raw tokens. A page has at most twice `DEVICES_PER_PAGE` devices
 * and can be empty although more pages follow.
 *
 * @param options `simulated`: whether to include simulated devices. `findDevices`: looks up registered devices
 */
export async function lookUpAudiencePage(
  database: Executor,
  entries: AudienceEntries,
  cursor: AudienceCursor,
  { simulated, findDevices }: { simulated: boolean; findDevices: FindDevices },
): Promise<AudiencePage> {
  const registered: TransportDevice[] = [];
  if (cursor.stage === 'registered') {
    // Look up one device more than fits on the page, to find out whether more devices follow.
    const page = { after: cursor.afterDevice, limit: DEVICES_PER_PAGE + 1 };
    const ahead = await findDevices(database, entries, page);
    const found = ahead.slice(0, DEVICES_PER_PAGE);
    for (const { userId, expired, ...device } of found) {
      if (expired || (!simulated && device.token.startsWith(SIMULATED_PREFIX))) continue;
      registered.push({ ...device, user: userId });
    }
    const next = findNextRegisteredPage(
      entries,
      cursor,
      ahead.length > DEVICES_PER_PAGE ? found.at(-1)!.id : undefined,
    );
    if (next !== undefined) return { devices: registered, next };
  }
  const done = (cursor.stage === 'tokens' ? cursor.done : 0) + DEVICES_PER_PAGE;
  const next: AudienceCursor | undefined =
    done < entries.raw ? { stage: 'tokens', done, afterDevice: null } : undefined;
  return { devices: [...registered, ...toRawDevices(entries, registered)], next };
}
