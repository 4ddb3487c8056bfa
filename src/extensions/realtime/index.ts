import { defineExtension, type Extension } from '../../declare/extension.ts';
import { createAccessWatch } from './access-watch.ts';
import { createAppender } from './appender.ts';
import { createConsumer } from './consumer.ts';
import type { Listener } from './groups.ts';
import { createHub } from './hub.ts';
import { createRealtimeMetrics } from './metrics.ts';
import { createStreamOpener } from './open.ts';
import { realtimeRoutes } from './routes.ts';
import { type RealtimeOptions, realtimeSettings } from './settings.ts';
import { createStreamSlots } from './stream-slots.ts';
import { createSweeps } from './sweeps.ts';
import { realtimeTickets, realtimeWaiting } from './tables.ts';
import { createTickets } from './tickets.ts';
import { eventData, ticketData } from './user-data.ts';

export type { RealtimeOptions } from './settings.ts';

/**
 * Realtime: changes of records as server-sent events, to each client what it may see.
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
      const hub = createHub(host, settings);
      const slots = createStreamSlots(settings);
      const tickets = createTickets(host, settings);
      const metrics = createRealtimeMetrics(host.metrics, () => slots.taken);
      const watch = createAccessWatch(host, (listener: Listener) => void opener.recheck(listener));
      const opener = createStreamOpener(host, settings, { hub, watch, slots, tickets, metrics });
      const stop = async () => {
        await Promise.all([hub.stop(), watch.stop()]);
      };
      return {
        routes: realtimeRoutes(opener.open, tickets),
        consumers: [createConsumer(host, appender)],
        sweeps: createSweeps(host, appender, settings),
        userData: [ticketData(host.database), ...(host.users === undefined ? [] : [eventData(host, host.users)])],
        // The server waits for streams, which end only here.
        workers: { web: () => ({ stop }) },
      };
    },
  });
}
