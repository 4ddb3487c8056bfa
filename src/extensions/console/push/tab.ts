import { z } from 'zod';
import {
  findRegisteredDevices,
  listAllDevices,
  PLATFORMS,
  readDevice,
  removeDevice,
} from '../../../accounts/devices/index.ts';
import type { SimulatedDevices } from '../../../declare/push.ts';
import {
  ApiError,
  type ConsoleConcern,
  type ConsoleTab,
  type Host,
  isId,
  type ResourceGateway,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { countFailedPushes, listPushes } from '../../../push/history/list-pushes.ts';
import { readPushChunks, readPushesOfDevice, readRemovedDevices } from '../../../push/history/push-devices.ts';
import { readPush } from '../../../push/history/read-push.ts';
import type { DeviceDetails, ShownPush } from './responses.ts';
import { simulatorRoutes } from './simulator.ts';

const PAGE_SIZE = 30;
const DEVICES_PER_PAGE = 20;
/** Highest page of a push's devices that can be requested. */
const MAX_PAGES = 100_000;
/** The maximum number of recipients that the page of a push names. */
const MAX_RECIPIENTS = 20;
const STATUSES = ['captured', 'sent', 'partial', 'failed', 'no-devices', 'queued'] as const;

const after = z.string().refine(isId, { error: 'Must be the `next` of a page' }).optional();
const sendsQuery = z.strictObject({
  status: z.enum(STATUSES, { error: `Must be one of: ${STATUSES.join(', ')}` }).optional(),
  after,
});
const sendQuery = z.strictObject({
  page: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_PAGES, { error: `Must be a whole number from 1 to ${MAX_PAGES}` })
    .default(1),
});
const devicesQuery = z.strictObject({
  user: z.string().refine(isId, { error: 'Must be the id of a user' }).optional(),
  platform: z.enum(PLATFORMS, { error: `Must be one of: ${PLATFORMS.join(', ')}` }).optional(),
  after,
});
const testBody = z.strictObject({
  title: z.string({ error: 'Must be a text' }),
  body: z.string({ error: 'Must be a text' }).optional(),
});

/** Returns a page of a list of which one row more was read. */
function toIdPage(found: readonly { id: string }[]): unknown {
  const { page, next } = toPage(found, PAGE_SIZE, ({ id }) => id);
  return withMeta(page, { limit: PAGE_SIZE, next });
}

/** The recipients of a message, shortened: an audience has up to 100,000 of them. */
function shortenAudience({ to, deviceIds, ...message }: Record<string, unknown>) {
  const shorten = (value: unknown) => {
    const all = typeof value === 'string' ? [value] : Array.isArray(value) ? value : [];
    return { ids: all.slice(0, MAX_RECIPIENTS) as string[], total: all.length };
  };
  return { message, audience: { users: shorten(to), devices: shorten(deviceIds) } };
}

/**
 * The tab of the console that shows pushes and devices, and sends tests. With simulated devices, which do not exist in production, it is also a
 * simulator of phones.
 */
export function createPushTab(
  host: Pick<Host, 'database' | 'push' | 'service'>,
  users: Pick<ResourceGateway, 'name'>,
  simulated: SimulatedDevices | undefined,
): ConsoleTab {
  const { database, push } = host;

  async function listSends(query: z.output<typeof sendsQuery>) {
    return toIdPage(await listPushes(database, { ...query, limit: PAGE_SIZE + 1 }));
  }

  async function readSend({ params: { id = '' }, query }: RouteContext) {
    const { page } = query as unknown as z.output<typeof sendQuery>;
    const [found, chunks = []] = isId(id)
      ? await Promise.all([readPush(database, id, { page, limit: DEVICES_PER_PAGE }), readPushChunks(database, id)])
      : [];
    if (found === undefined) throw new ApiError('NOT_FOUND', 'There is no push with this id');
    const ids = found.devices.flatMap(({ device }) => device ?? []);
    const registered = await findRegisteredDevices(database, ids);
    const devices = found.devices.map((one) => ({
      ...one,
      isRegistered: one.device === null ? null : registered.has(one.device),
    }));
    const pages = Math.ceil(found.counts.devices / DEVICES_PER_PAGE);
    const shown: ShownPush = { ...found, ...shortenAudience(found.message), devices, chunks };
    return withMeta(shown, { page, pages });
  }

  async function listDevices(query: z.output<typeof devicesQuery>) {
    return toIdPage(await listAllDevices(database, { ...query, limit: PAGE_SIZE + 1 }));
  }

  async function findDevice(id: string) {
    const device = await readDevice(database, id);
    if (device === undefined) throw new ApiError('NOT_FOUND', 'There is no device with this id');
    return device;
  }

  async function readDeviceWithPushes({ params }: RouteContext): Promise<DeviceDetails> {
    const device = await findDevice(params.id!);
    const pushes = await readPushesOfDevice(database, device.id);
    return { ...device, pushes: pushes.map((one) => ({ ...one, isRegistered: true })) };
  }

  async function deleteDevice(id: string) {
    if (!(await removeDevice(database, id))) throw new ApiError('NOT_FOUND', 'There is no device with this id');
  }

  async function listConcerns(): Promise<ConsoleConcern[]> {
    const count = await countFailedPushes(database);
    if (count === 0) return [];
    const message = `${count.toLocaleString('en')} ${count === 1 ? 'push' : 'pushes'} of the last 24 hours reached no device`;
    return [{ level: 'warning', message, href: '/console/push/sends?status=failed' }];
  }

  async function sendTest({ params, input }: RouteContext) {
    const { id } = await findDevice(params.id!);
    return push.send({ ...(input as z.output<typeof testBody>), deviceIds: [id] });
  }

  return {
    id: 'push',
    label: 'Push',
    concerns: listConcerns,
    routes: [
      { method: 'GET', path: '/sends', query: sendsQuery, handler: ({ query }) => listSends(query) },
      { method: 'GET', path: '/sends/:id', query: sendQuery, handler: readSend },
      { method: 'GET', path: '/devices', query: devicesQuery, handler: ({ query }) => listDevices(query) },
      { method: 'GET', path: '/devices/:id', handler: readDeviceWithPushes },
      { method: 'GET', path: '/removed-devices', handler: () => readRemovedDevices(database) },
      {
        method: 'DELETE',
        path: '/devices/:id',
        action: 'deviceRemoved',
        handler: ({ params }) => deleteDevice(params.id!),
      },
      {
        method: 'POST',
        path: '/devices/:id/test',
        action: 'pushTested',
        input: testBody,
        status: 201,
        handler: sendTest,
      },
      ...(simulated === undefined ? [] : simulatorRoutes(host, users, simulated)),
    ],
  };
}
