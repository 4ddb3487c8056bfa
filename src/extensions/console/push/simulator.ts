import { z } from 'zod';
import type { SimulatedBehavior, SimulatedDevices } from '../../../declare/push.ts';
import {
  boundedArraySchema,
  type ConsoleRoute,
  type Host,
  type ResourceGateway,
  validationError,
} from '../../../extension/index.ts';
import type { SimulatedMessage, Simulator } from './responses.ts';

const MAX_NOTIFICATIONS = 20;
const AUDIENCE_FIELDS = ['to', 'deviceIds', 'tokens', 'platform'];

const deviceBody = z.record(z.string(), z.unknown(), { error: 'Must be an object' });
const behaviorBody = z.strictObject({ behavior: z.string({ error: 'Must be a behavior' }) });
const tapBody = z.strictObject({ notification: z.string({ error: 'Must be an id' }) });
const sendBody = z.strictObject({
  deviceIds: boundedArraySchema(z.string({ error: 'Must be an id' }), {
    min: 1,
    max: 200,
    error: 'Must be an array of device ids',
  }),
  content: z.record(z.string(), z.unknown(), { error: 'Must be an object' }),
});

/** The routes of the simulator: simulated devices with their notifications, and actions on them. They never send to real devices. */
export function simulatorRoutes(
  { push, service }: Pick<Host, 'push' | 'service'>,
  users: Pick<ResourceGateway, 'name'>,
  simulated: SimulatedDevices,
): ConsoleRoute[] {
  async function readState(): Promise<Simulator> {
    const [devices, people] = await Promise.all([
      simulated.list(),
      service(users.name).list({ limit: 1, count: 'none' }),
    ]);
    return {
      devices: devices.toReversed().map((device) => ({
        ...device,
        notifications: device.notifications
          .slice(0, MAX_NOTIFICATIONS)
          .map(({ message, ...one }) => ({ ...one, message: message as SimulatedMessage })),
      })),
      hasUsers: people.data.length > 0,
    };
  }

  async function sendToSimulatedDevices({ deviceIds, content }: z.output<typeof sendBody>) {
    const simulatedIds = new Set((await simulated.list()).map((device) => device.id));
    if (!deviceIds.every((id) => simulatedIds.has(id)))
      throw validationError({ deviceIds: 'Must be simulated devices' });
    const audienceFields = AUDIENCE_FIELDS.filter((name) => name in content);
    if (audienceFields.length > 0)
      throw validationError(Object.fromEntries(audienceFields.map((name) => [name, 'Unknown field'])));
    return push.send({ ...content, deviceIds });
  }

  return [
    { method: 'GET', path: '/simulator', handler: readState },
    {
      method: 'POST',
      path: '/simulator/devices',
      action: 'simulatedDeviceAdded',
      input: deviceBody,
      status: 201,
      handler: ({ input }) => simulated.create(input as Parameters<SimulatedDevices['create']>[0]),
    },
    {
      method: 'PATCH',
      path: '/simulator/devices/:device',
      action: 'simulatedDeviceChanged',
      input: behaviorBody,
      handler: ({ params, input }) => simulated.setBehavior(params.device!, input.behavior as SimulatedBehavior),
    },
    {
      method: 'DELETE',
      path: '/simulator/devices/:device',
      action: 'simulatedDeviceRemoved',
      handler: ({ params }) => simulated.remove(params.device!),
    },
    {
      method: 'POST',
      path: '/simulator/opened',
      action: 'simulatedNotificationTapped',
      input: tapBody,
      handler: ({ input }) => simulated.tap(input.notification),
    },
    {
      method: 'POST',
      path: '/simulator/sends',
      action: 'simulatedPushSent',
      input: sendBody,
      status: 201,
      handler: ({ input }) => sendToSimulatedDevices(input),
    },
  ];
}
