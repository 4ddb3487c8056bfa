import { hash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Host, ResourceGateway } from '../../extension/index.ts';
import { recordDeviceSql } from './sql.ts';

/**
 * The leading bits of an address that belong to a device. Few, because a phone gets a new address from its provider again and again, while
 * an attacker rarely uses the provider of the user.
 */
const NETWORK_BITS = { ipv4: 16, ipv6: 32 };

/** Returns the network of an address, such as `203.0`; an empty text if the address is not known. */
export function networkOf(ip: string): string {
  if (isIPv4(ip))
    return ip
      .split('.')
      .slice(0, NETWORK_BITS.ipv4 / 8)
      .join('.');
  if (!isIPv6(ip)) return '';
  const groups = ipaddr.IPv6.parse(ip).parts.slice(0, NETWORK_BITS.ipv6 / 16);
  return groups.map((group) => group.toString(16)).join(':');
}

/**
 * Returns the SHA-256 under which a device of a user is stored. It contains the user, so that rows do not show which users share a device.
 *
 * @param device browser and operating system, as from `describeUserAgent`
 */
export function fingerprintOf(userId: string, device: string, ip: string): string {
  return hash('sha256', JSON.stringify([userId, device, networkOf(ip)]));
}

/** A sign-in, as far as it identifies the device. */
interface DeviceSighting {
  userId: string;
  /** Browser and operating system, as from `describeUserAgent`. */
  device: string;
  ip: string;
}

/**
 * Creates the function that records the device of a sign-in or registration. It returns true if the device is new to a user who has known
 * devices. However many sign-ins of a device run at once, one of them gets true.
 */
export function createDeviceRecorder({ database }: Pick<Host, 'database'>, users: Pick<ResourceGateway, 'table'>) {
  const text = recordDeviceSql(users.table);
  return async ({ userId, device, ip }: DeviceSighting): Promise<boolean> => {
    const statement = { name: 'known_device_seen', text, values: [userId, fingerprintOf(userId, device, ip)] };
    const [row] = await database.write<[isNew: boolean, hadDevices: boolean]>(statement);
    return row?.[0] === true && row[1];
  };
}
