import { z } from 'zod';
import { ApiError, type Route, type RouteContext } from '../../extension/index.ts';
import { type ResourcePaths, readSubscriptions } from './streams/request.ts';
import type { Tickets } from './streams/tickets.ts';

const TICKETS_A_MINUTE = 60;

const streamQuery = z.object({
  subscribe: z
    .union([z.string(), z.array(z.string())])
    .describe(
      '`/posts`, `/posts/<id>` or `/posts?field=value`: a path below `/api`. The name of the resource, such as `post`, can replace its path. Repeat it for each subscription.',
    ),
  ticket: z
    .string()
    .optional()
    .describe('A ticket from `POST /api/realtime/ticket`, for clients that cannot send headers.'),
  lastEventId: z.string().optional().describe('The same as the header `Last-Event-ID`.'),
});

const DESCRIPTION = `Server-sent events \`<resource>.created\`, \`.updated\`, \`.deleted\`, \`.restored\` and \`.left\`, each with
\`{ subscription, event, at, id, data?, previous? }\`. \`data\` contains what the caller may see of the record, \`previous\` the same
before an update. Control events: \`ready\` (the stream is complete from here on), \`reset\` (events may be missing: load the data again),
\`heartbeat\` and \`end\`. The filters of a single subscription may also be query parameters: \`?subscribe=/posts&status=published\`. If a subscription is refused, \`details\` of the error names it: \`subscribe.1\` is the second one.`;

/**
 * The routes to open streams and to create tickets.
 *
 * @param maxSubscriptions of one stream
 * @param pathsOf returns the resources that clients can subscribe to, by path
 */
export function realtimeRoutes(
  open: (ctx: RouteContext) => Promise<void>,
  tickets: Tickets,
  maxSubscriptions: number,
  pathsOf: () => ResourcePaths,
): Route[] {
  return [
    {
      method: 'GET',
      path: '/realtime',
      // The handler checks the policies of the extension and of the resources, after it has authenticated a ticket.
      policy: 'public',
      eventStream: true,
      queryShape: streamQuery,
      recordQueries: (query) =>
        readSubscriptions(query, maxSubscriptions, pathsOf()).flatMap(({ resource, filters }) =>
          resource === undefined ? [] : [{ resource, query: filters }],
        ),
      errors: ['FORBIDDEN', 'NOT_FOUND', 'RATE_LIMITED'],
      operationId: 'openStream',
      // Each subscription is checked like its list.
      organisationKeys: true,
      summary: 'Stream changes of records',
      description: DESCRIPTION,
      tags: ['realtime'],
      handler: open,
    },
    {
      method: 'POST',
      path: '/realtime/ticket',
      policy: 'authenticated',
      rateLimit: { limit: TICKETS_A_MINUTE, windowMs: 60_000 },
      output: z.object({ ticket: z.string(), expiresAt: z.iso.datetime() }),
      errors: ['FORBIDDEN'],
      status: 201,
      operationId: 'createStreamTicket',
      summary: 'Create a ticket that opens one stream, for clients that cannot send headers',
      tags: ['realtime'],
      handler({ user, auth, res }) {
        if (auth!.via !== 'session') {
          throw new ApiError('FORBIDDEN', 'An API key cannot create a ticket; send it in the Authorization header');
        }
        res.setHeader('Cache-Control', 'no-store');
        return tickets.createTicket(user!, auth!.id);
      },
    },
  ];
}
