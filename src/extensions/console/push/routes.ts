import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Host } from '../../../declare/host.ts';
import type { SimulatedBehavior, SimulatedDevices } from '../../../declare/push.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { validationError } from '../../../platform/errors.ts';
import { boundedArraySchema } from '../../../platform/json/bounded-array.ts';
import type { LiveUpdates } from '../live.ts';

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
const AUDIENCE_FIELDS = ['to', 'deviceIds', 'tokens', 'platform'];

/** The routes of the page at `path`: read its data and act on simulated devices. They never send to real devices. */
export function consoleRoutes(
  path: string,
  {
    simulated,
    push,
    live,
    middleware,
  }: Pick<Host, 'push'> & {
    simulated: SimulatedDevices;
    live: LiveUpdates;
    middleware: readonly RequestHandler[];
  },
): Route[] {
  const common = { policy: 'public', middleware };
  /** Wraps a handler so that open pages are updated right after its action. */
  const withPageRefresh = (handler: Route['handler']) => async (ctx: RouteContext) => {
    const value = await handler(ctx);
    live.refreshStreams();
    return value;
  };

  async function sendToSimulatedDevices({ deviceIds, content }: z.output<typeof sendBody>) {
    const simulatedIds = new Set((await simulated.list()).map((device) => device.id));
    if (!deviceIds.every((id) => simulatedIds.has(id))) {
      throw validationError({ deviceIds: 'Must be simulated devices' });
    }
    const audienceFields = AUDIENCE_FIELDS.filter((name) => name in content);
    if (audienceFields.length > 0)
      throw validationError(Object.fromEntries(audienceFields.map((name) => [name, 'Unknown field'])));
    return push.send({ ...content, deviceIds });
  }

  return [
    {
      ...common,
      method: 'GET',
      path: `${path}/events`,
      handler: ({ req, res }) => live.openStream(req, res),
    },
    {
      ...common,
      method: 'POST',
      path: `${path}/devices`,
      body: 'json',
      status: 201,
      handler: withPageRefresh(({ body }) => simulated.create(body as Parameters<SimulatedDevices['create']>[0])),
    },
    {
      ...common,
      method: 'PATCH',
      path: `${path}/devices/:device`,
      input: behaviorBody,
      handler: withPageRefresh(({ params, input }) =>
        simulated.setBehavior(params.device!, input.behavior as SimulatedBehavior),
      ),
    },
    {
      ...common,
      method: 'DELETE',
      path: `${path}/devices/:device`,
      handler: withPageRefresh(({ params }) => simulated.remove(params.device!)),
    },
    {
      ...common,
      method: 'POST',
      path: `${path}/opened`,
      input: tapBody,
      handler: withPageRefresh(({ input }) => simulated.tap(input.notification)),
    },
    {
      ...common,
      method: 'POST',
      path: `${path}/sends`,
      input: sendBody,
      status: 201,
      handler: withPageRefresh(({ input }) => sendToSimulatedDevices(input)),
    },
  ];
}
