import { defineExtension, type Extension } from '../../declare/extension.ts';
import { createAppender } from './append.ts';
import { createConsumer } from './consumer.ts';
import type { Listener } from './groups.ts';
import { createHub } from './hub.ts';
import { createRealtimeMetrics } from './metrics.ts';
import { createOpening } from './open.ts';
import { createPlaces } from './places.ts';
import { realtimeRoutes } from './routes.ts';
import { type RealtimeOptions, readSettings, settingsMistakes } from './settings.ts';
import { createSweeps } from './sweeps.ts';
import { realtimeTickets, realtimeWaiting } from './tables.ts';
import { createTickets } from './tickets.ts';
import { ticketData } from './user-data.ts';
import { createWatch } from './watch.ts';

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
    mistakes: () => settingsMistakes(options),
    setup(host) {
      const settings = readSettings(options);
      const appender = createAppender(host, settings);
      const hub = createHub(host, settings);
      const places = createPlaces(settings);
      const tickets = createTickets(host, settings);
      const metrics = createRealtimeMetrics(host.metrics, () => places.taken);
      const watch = createWatch(host, (listener: Listener) => void opening.lookAnew(listener));
      const opening = createOpening(host, settings, { hub, watch, places, tickets, metrics });
      const stop = async () => {
        await Promise.all([hub.stop(), watch.stop()]);
      };
      return {
        routes: realtimeRoutes(opening.open, tickets),
        consumers: [createConsumer(host, appender)],
        sweeps: createSweeps(host, appender, settings),
        userData: [ticketData(host.database)],
        // The server waits for streams, which end only here.
        workers: { web: () => ({ stop }) },
      };
    },
  });
}
