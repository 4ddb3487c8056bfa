import type { Host, ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import type { SimulatedDevice, SimulatedDevices } from '../../../declare/push.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type RecentPush, readRecentPushes } from '../../../push/history/read-push.ts';

const MAX_USERS = 100;
const MAX_NOTIFICATIONS = 20;

/** A user who can have a simulated device. */
interface UserOption {
  id: string;
  /** The name, or the e-mail if there is none. */
  label: string;
}

/** The data of the console page. */
export interface ConsoleState {
  /** Oldest first, so that devices keep their position; each with its newest notifications. */
  devices: (SimulatedDevice & { owner: string })[];
  /** Users for whom a device may be added. */
  users: UserOption[];
  /** Newest first. `label`: the name of the device, else its owner, else its masked token. */
  pushes: (Omit<RecentPush, 'devices'> & { devices: (RecentPush['devices'][number] & { label: string })[] })[];
}

function toUserOption(user: StoredRecord): UserOption {
  const { id, name, email } = user;
  return { id, label: typeof name === 'string' && name !== '' ? `${name} (${email})` : String(email) };
}

/** Creates the function that reads the data of the console page. */
export function createStateReader(
  { database, service }: Pick<Platform, 'database'> & Pick<Host, 'service'>,
  users: ResourceGateway,
  simulated: SimulatedDevices,
): () => Promise<ConsoleState> {
  return async () => {
    const [devices, people, pushes] = await Promise.all([
      simulated.list(),
      service(users.name).list({ limit: MAX_USERS, count: 'none' }),
      readRecentPushes(database, { limit: 30, devices: 20 }),
    ]);
    const receivers = pushes.flatMap((push) => push.devices.map(({ user }) => user));
    const ids = [...devices.map(({ user }) => user), ...receivers].filter((id) => id !== null);
    const owners = await users.load([...new Set(ids)]);
    const labels = new Map(owners.map((owner) => [owner.id, toUserOption(owner).label]));
    return {
      devices: devices.toReversed().map((device) => ({
        ...device,
        owner: labels.get(device.user) ?? device.user,
        notifications: device.notifications.slice(0, MAX_NOTIFICATIONS),
      })),
      users: (people.data as unknown as StoredRecord[]).map(toUserOption),
      pushes: pushes.map((push) => ({
        ...push,
        devices: push.devices.map((device) => ({
          ...device,
          label: device.name ?? labels.get(device.user ?? '') ?? device.token,
        })),
      })),
    };
  };
}
