import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { boundedTextSchema, PLATFORMS, registerDevice, SIMULATED_PREFIX } from '../../accounts/devices/index.ts';
import {
  SIMULATED_BEHAVIORS,
  type SimulatedBehavior,
  type SimulatedDevice,
  type SimulatedDevices,
  type SimulatedNotification,
} from '../../declare/push.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { toErrorDetails } from '../message/message.ts';
import { outcomeOfBehavior } from './transport.ts';

const behavior = z.enum(SIMULATED_BEHAVIORS, { error: `Must be one of: ${SIMULATED_BEHAVIORS.join(', ')}` });
const newDeviceSchema = z.strictObject(
  {
    user: z.string({ error: 'Must be an id' }).refine(isId, { error: 'Must be an id' }),
    platform: z.enum(PLATFORMS, { error: `Must be one of: ${PLATFORMS.join(', ')}` }).default('ios'),
    name: boundedTextSchema(100).optional(),
    behavior: behavior.default('delivers'),
  },
  { error: (issue) => (issue.code === 'invalid_type' ? 'Must be an object' : undefined) },
);

const SELECT_DEVICES = `
  select d.id, d.user_id, d.platform, d.name, s.behavior, d.created_at, coalesce((
    select json_agg(n) from (
      select id, push_id as push, state, message, created_at as at, tapped_at as "tappedAt" from push_simulated_notifications
      where device_id = d.id order by id desc limit 50
    ) n
  ), '[]') from push_simulated_devices s join devices d on d.id = s.device_id`;
const SELECT_ALL_DEVICES = `${SELECT_DEVICES} order by d.created_at desc, d.id desc limit 200`;
const SELECT_DEVICE = `${SELECT_DEVICES} where d.id = $1`;

const INSERT_DEVICE = 'insert into push_simulated_devices (device_id, behavior) values ($1, $2)';
const SET_BEHAVIOR = 'update push_simulated_devices set behavior = $2 where device_id = $1 returning 1';
const DELETE_EXPIRED = `delete from push_simulated_notifications where device_id = $1 and state = 'held' and expires_at < now()`;
const RELEASE_HELD = `
  update push_simulated_notifications set created_at = now(),
    state = case when $2 = 'shown' and (message->>'silent')::boolean is true then 'hidden' else $2 end
  where device_id = $1 and state = 'held' returning push_id, state`;
const MARK_TAPPED = `
  update push_simulated_notifications n set tapped_at = coalesce(n.tapped_at, now()) from devices d
  where n.id = $1 and n.state = 'shown' and d.id = n.device_id returning n.push_id, d.user_id, d.id, n.message`;
const DELETE_DEVICE = `delete from devices d using push_simulated_devices s where d.id = $1 and s.device_id = d.id returning 1`;

type DeviceRow = [
  string,
  string,
  SimulatedDevice['platform'],
  string | null,
  SimulatedBehavior,
  string,
  SimulatedNotification[],
];

// Converts a time that was selected inside JSON: Postgres writes such times with its own time zone and precision.
const toIsoTime = (text: string | null) => (text === null ? null : new Date(text).toISOString());

function serializeDevice([
  id,
  user,
  platform,
  name,
  deviceBehavior,
  createdAt,
  notifications,
]: DeviceRow): SimulatedDevice {
  const shown = notifications.map((one) => ({ ...one, at: toIsoTime(one.at)!, tappedAt: toIsoTime(one.tappedAt) }));
  return { id, user, platform, name, behavior: deviceBehavior, createdAt, notifications: shown };
}

function parseOrThrow<T>(schema: z.ZodType<T>, value: unknown, whole: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw validationError(toErrorDetails(parsed.error, whole));
}

/** Creates and manages simulated devices. */
export function createSimulatedDevices({ database, events }: Pick<Platform, 'database' | 'events'>): SimulatedDevices {
  async function getSimulatedDevice(id: string): Promise<SimulatedDevice> {
    const [row] = isId(id) ? await database.write<DeviceRow>({ text: SELECT_DEVICE, values: [id] }) : [];
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return serializeDevice(row);
  }

  return {
    async create(input) {
      const { user, platform, name, behavior: deviceBehavior } = parseOrThrow(newDeviceSchema, input, 'device');
      const token = SIMULATED_PREFIX + randomBytes(16).toString('hex');
      const registration = { token, platform, ...(name === undefined ? {} : { name }) };
      const { id } = await registerDevice(database, registration, { userId: user, sessionId: null });
      await database.write({ text: INSERT_DEVICE, values: [id, deviceBehavior] });
      return getSimulatedDevice(id);
    },
    list: async () => (await database.write<DeviceRow>({ text: SELECT_ALL_DEVICES, values: [] })).map(serializeDevice),
    async setBehavior(id, input) {
      const deviceBehavior = parseOrThrow(behavior, input, 'behavior');
      if (!isId(id) || (await database.write({ text: SET_BEHAVIOR, values: [id, deviceBehavior] })).length === 0) {
        throw new ApiError('NOT_FOUND');
      }
      const outcome = outcomeOfBehavior(deviceBehavior, false);
      if ('state' in outcome && outcome.state !== 'held') {
        await database.write({ text: DELETE_EXPIRED, values: [id] });
        const rows = await database.write<[string, string]>({ text: RELEASE_HELD, values: [id, outcome.state] });
        for (const [push, state] of rows) events.emit('push.simulated', { id: push, device: id, state });
      }
      return getSimulatedDevice(id);
    },
    async tap(notificationId) {
      type Tapped = [string, string, string, { url?: string; data?: Record<string, unknown> }];
      const [row] = isId(notificationId)
        ? await database.write<Tapped>({ text: MARK_TAPPED, values: [notificationId] })
        : [];
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const [id, user, device, { url = null, data = {} }] = row;
      events.emit('push.opened', { id, user, device, url, data, simulated: true });
    },
    async remove(id) {
      if (!isId(id) || (await database.write({ text: DELETE_DEVICE, values: [id] })).length === 0) {
        throw new ApiError('NOT_FOUND');
      }
    },
  };
}
