import {
  ApiError,
  createClientSlots,
  createRetentionSweep,
  defineExtension,
  defineOwnedTable,
  type Extension,
} from '../../extension/index.ts';
import { createAppender } from './events/appender.ts';
import { createRealtimeForwarder, createRealtimeSweeps } from './events/forwarding.ts';
import { Hub } from './fan-out/hub.ts';
import { createRealtimeMetrics } from './fan-out/metrics.ts';
import { realtimeRoutes } from './routes.ts';
import { type RealtimeOptions, realtimeSettings } from './settings/settings.ts';
import { createAccessWatch } from './streams/access-watch.ts';
import { createRecheck, createStreamOpener } from './streams/open.ts';
import { createTickets } from './streams/tickets.ts';
import { realtimeTickets, realtimeWaiting } from './tables.ts';
import { describeEventUserData } from './user-data.ts';

export type { RealtimeOptions } from './settings/settings.ts';

/**
 * Realtime: sends changes of records as server-sent events. Each client gets only what it may see.
 *
 * @example createApp({ resources, extensions: [realtime({ windowSeconds: 3600 })] }, process.env)
 */
export function realtime(options: RealtimeOptions = {}): Extension<'realtime'> {
  return defineExtension({
    name: 'realtime',
    tables: { realtime_waiting: realtimeWaiting, realtime_tickets: realtimeTickets },
    settings: realtimeSettings,
    options,
    setup(host, settings) {
      const appender = createAppender(host, settings);
      const slots = createClientSlots({
        total: settings.maxStreams,
        perUser: settings.maxStreamsPerUser,
        perAddress: settings.maxStreamsPerAddress,
        refuse: (limit, more) => new ApiError('RATE_LIMITED', `You can have at most ${limit} streams open`, more),
      });
      const metrics = createRealtimeMetrics(host.metrics, () => slots.taken);
      const hub = new Hub(host, settings, metrics);
      host.processes.report('streams', () => ({
        open: slots.taken,
        max: settings.maxStreams,
        subscriptions: hub.countSubscriptions(),
        ...metrics.read(),
      }));
      const tickets = createTickets(host, settings);
      const watch = createAccessWatch(host, createRecheck(host, settings, hub));
      const opener = createStreamOpener(host, settings, { hub, watch, slots, tickets, metrics });
      const stop = async () => {
        await Promise.all([hub.endAllStreamsAndStop(), watch.stop()]);
      };
      return {
        routes: realtimeRoutes(opener.handleOpenStream, tickets, settings.maxSubscriptions, opener.resourcePaths),
        consumers: [createRealtimeForwarder(host, appender)],
        sweeps: [
          ...createRealtimeSweeps(host, appender, settings),
          createRetentionSweep(host.database, {
            name: 'expired tickets of streams',
            removals: [{ table: realtimeTickets }],
          }),
        ],
        userData: [
          defineOwnedTable(realtimeTickets).describe(host.database, {
            name: 'streamTickets',
            description: 'Tickets that open a stream and expire within seconds; not exported',
          }),
          ...(host.users === undefined ? [] : [describeEventUserData(host, host.users)]),
        ],
        // A stopping server waits until all responses have ended, so the client streams must end here.
        workers: { web: () => ({ stop }) },
      };
    },
  });
}
