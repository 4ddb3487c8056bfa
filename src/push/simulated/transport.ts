import { SIMULATED_PREFIX } from '../../accounts/devices/index.ts';
import type { SimulatedBehavior, SimulatedNotification } from '../../declare/push.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { SIMULATED_TRANSPORT, type Transport, type TransportResult } from '../message/transport.ts';

/** The state of a notification on a simulated device, or the reason why the simulated provider refuses it. */
type SimulatedOutcome = { state: SimulatedNotification['state'] } | { refused: TransportResult };

const goneOutcome = (error: string): SimulatedOutcome => ({ refused: { ok: false, error, unregistered: true } });

const OUTCOME_BY_BEHAVIOR: Record<SimulatedBehavior, SimulatedOutcome> = {
  delivers: { state: 'shown' },
  offline: { state: 'held' },
  'notifications-off': { state: 'hidden' },
  'app-uninstalled': goneOutcome('DeviceNotRegistered'),
  'invalid-token': goneOutcome('InvalidRegistration'),
  'rate-limited': { refused: { ok: false, error: 'MessageRateExceeded', retryable: true } },
};

/** Returns what happens to a message on a device with this behavior. A silent message is never shown. */
export function outcomeOfBehavior(behavior: SimulatedBehavior, silent: boolean): SimulatedOutcome {
  const result = OUTCOME_BY_BEHAVIOR[behavior];
  return silent && 'state' in result && result.state === 'shown' ? { state: 'hidden' } : result;
}

const SELECT_BEHAVIORS = 'select device_id, behavior from push_simulated_devices where device_id = any($1)';

// Stores notifications of a push. Each replaces older notifications on its device with the same collapseId or from the same push.
const STORE_NOTIFICATIONS = `
  with n as (select * from unnest($1::text[], $2::text[], $3::text[]) n(id, device_id, state)), older as (
    delete from push_simulated_notifications o using n
    where o.device_id = n.device_id and (o.push_id = $4 or o.message->>'collapseId' = $5::jsonb->>'collapseId')
  )
  insert into push_simulated_notifications (id, device_id, push_id, state, message, expires_at)
  select n.id, n.device_id, $4, n.state, $5::jsonb, $6 from n join push_simulated_devices using (device_id)`;

/** The transport of simulated devices. It accepts only their tokens and returns results according to their behavior. */
export function createSimulatedTransport({ database, events }: Pick<Platform, 'database' | 'events'>): Transport {
  return {
    name: SIMULATED_TRANSPORT,
    accepts: ({ token }) => token.startsWith(SIMULATED_PREFIX),
    async send(message, devices, { id, expiresAt }) {
      const ids = devices.map((device) => device.id);
      const rows = await database.write<[string, SimulatedBehavior]>({ text: SELECT_BEHAVIORS, values: [ids] });
      const behaviors = new Map(rows);
      const received: { id: string; device: string; state: string }[] = [];
      const results = ids.map((device): TransportResult => {
        const behavior = device === null ? undefined : behaviors.get(device);
        const result = outcomeOfBehavior(behavior ?? 'invalid-token', message.silent === true);
        if ('refused' in result) return result.refused;
        const notification = { id: newId(), device: device!, state: result.state };
        received.push(notification);
        return { ok: true, id: notification.id };
      });
      await database.write({
        text: STORE_NOTIFICATIONS,
        values: [
          received.map((one) => one.id),
          received.map((one) => one.device),
          received.map((one) => one.state),
          id,
          JSON.stringify(message),
          expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
        ],
      });
      for (const { device, state } of received) events.emit('push.simulated', { id, device, state });
      return results;
    },
  };
}
