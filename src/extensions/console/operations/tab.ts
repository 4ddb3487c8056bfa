import { z } from 'zod';
import {
  ApiError,
  type ConsoleConcern,
  type ConsoleRoute,
  type ConsoleTab,
  type ExtensionHost,
  isId,
  type RouteContext,
  type Translation,
} from '../../../extension/index.ts';
import { toPublicDatabaseError } from '../../../platform/data/postgres/errors.ts';
import { explainRedisProblem, isRedisError } from '../../../platform/data/redis/problems.ts';
import type { ProcessList, QueueState } from '../../../platform/work/processes/facts.ts';
import { readProcesses } from '../../../platform/work/processes/list.ts';
import { readQueues } from '../../../platform/work/queues/state.ts';
import {
  clearClient,
  clearLockout,
  lookUpCounts,
  readLimitedClients,
  readLimitRules,
  readLockouts,
  unlockAccount,
} from './limits.ts';
import { readOutbox, retryOutboxRows } from './outbox.ts';
import { readOverview } from './overview.ts';
import { summarizeRequests } from './processes.ts';
import { changeFailedEntry, readFailedEntries } from './queues.ts';
import type { Checks, JobCounts, Overview, Processes } from './responses.ts';
import { createPostgresReader, readRedisState } from './servers.ts';
import { createSharedRead } from './shared-read.ts';
import { readSlowWork, readStatementStatistics } from './slow.ts';

/** ms for which pages share the result of a read. */
const FRESH_MS = 1000;
/** The checks of `belfry doctor` open a connection and read the migrations, so they run at most this often. */
const CHECKS_FRESH_MS = 30_000;
const SCAN_FRESH_MS = 3000;
const JOBS_FRESH_MS = 3000;

const text = z
  .string()
  .trim()
  .min(1, { error: 'Must not be empty' })
  .max(320, { error: 'Must have at most 320 characters' });
const lookUpQuery = z.strictObject({ q: text });
const clearBody = z.strictObject({ name: text, windowMs: z.number().int().positive(), client: text });
/** The largest part of an id in a stream of Redis. */
const MAX_ID_PART = 2n ** 64n - 1n;
const logQuery = z.strictObject({
  after: z
    .string()
    .refine((id) => /^\d{1,20}-\d{1,20}$/.test(id) && id.split('-').every((part) => BigInt(part) <= MAX_ID_PART), {
      error: 'Must be the id of a line',
    })
    .optional(),
});

type Handler = (ctx: RouteContext) => unknown;

/** The concerns of the overview, each with the page of its section. */
const toConsoleConcerns = ({ concerns }: Overview): ConsoleConcern[] =>
  concerns.map(({ level, message, section }) => ({
    level,
    message,
    href: section === 'overview' ? '/console/operations' : `/console/operations/${section}`,
  }));

/** Returns the overview with its sentences in the language of a request. */
function translateOverview(overview: Overview, { members }: Translation): Overview {
  const { concerns, postgres, redis } = overview;
  return {
    ...overview,
    concerns: concerns.map((concern) => members(concern, ['message'])),
    postgres: 'problem' in postgres ? members(postgres, ['problem', 'fix']) : postgres,
    redis: 'problem' in redis ? members(redis, ['problem', 'fix']) : redis,
  };
}

const get = (path: string, handler: Handler, query?: z.ZodType): ConsoleRoute => ({
  method: 'GET',
  path,
  handler,
  ...(query && { query }),
});

/** A handler that needs Redis. Its errors say why Redis is not usable. Errors of Postgres and of the code are passed through. */
const withRedis =
  ({ env, redis }: Pick<ExtensionHost, 'env' | 'redis'>, handler: Handler): Handler =>
  async (ctx) => {
    try {
      return await handler(ctx);
    } catch (error) {
      if (!isRedisError(error) || error instanceof ApiError || toPublicDatabaseError(error) !== undefined) throw error;
      const message = explainRedisProblem(redis.lastError() ?? error, redis.address, env.redisPrefix);
      throw new ApiError('UNAVAILABLE', message, { cause: error });
    }
  };

/** The parameters of a path, for entries of the audit trail: ids and names without personal values. */
const recordParams = (resource: string) => (ctx: RouteContext) => ({
  resource,
  record: null,
  details: { ...ctx.params },
});

/** Returns the id of the row in a path; `0`, which no row has, for an invalid id. Postgres refuses larger numbers. */
const readRowId = ({ params: { id = '' } }: RouteContext) => (/^\d{1,18}$/.test(id) ? id : '0');

/** The routes about queues and the outbox. */
function workRoutes(
  host: ExtensionHost,
  readList: () => Promise<ProcessList>,
  readAllQueues: () => Promise<QueueState[]>,
) {
  const readJobParams = ({ params }: RouteContext) => ({ name: params.name!, id: params.id! });
  const change = (action: 'retry' | 'remove'): Handler =>
    withRedis(host, async (ctx) =>
      changeFailedEntry(host, await readList(), readJobParams(ctx), (job) => job[action]()),
    );
  const readJobs = createSharedRead(host.readJobOverview, JOBS_FRESH_MS);
  const readRows = createSharedRead(() => readOutbox(host), FRESH_MS);
  const retry = async (id: string | undefined) => {
    const rows = await retryOutboxRows(host, id);
    readRows.expire();
    return { rows };
  };
  return [
    get('/queues', withRedis(host, readAllQueues)),
    get('/jobs', async (): Promise<JobCounts> => {
      const { kinds, cappedStatuses } = await readJobs();
      return { kinds, cappedStatuses };
    }),
    get(
      '/queues/:name/failed',
      withRedis(host, async ({ params }) => readFailedEntries(host, await readList(), params.name!)),
    ),
    {
      method: 'POST',
      path: '/queues/:name/failed/:id/retry',
      action: 'queueEntryRetried',
      recordedAs: recordParams('queue'),
      handler: change('retry'),
    },
    {
      method: 'DELETE',
      path: '/queues/:name/failed/:id',
      action: 'queueEntryRemoved',
      recordedAs: recordParams('queue'),
      handler: change('remove'),
    },
    get('/outbox', readRows),
    {
      method: 'POST',
      path: '/outbox/retry',
      action: 'outboxRetried',
      recordedAs: recordParams('outbox'),
      handler: () => retry(undefined),
    },
    {
      method: 'POST',
      path: '/outbox/:id/retry',
      action: 'outboxRetried',
      recordedAs: recordParams('outbox'),
      handler: (ctx) => retry(readRowId(ctx)),
    },
  ] satisfies ConsoleRoute[];
}

/** Returns the user that a limit counts for, alone or after another name as in `mail:<id>`; undefined for an address. */
function userOfClient(client: string): string | undefined {
  const last = client.split(':').at(-1)!;
  return isId(last) ? last : undefined;
}

/** The routes about rate limits and lockouts. Entries of the audit trail contain no addresses. */
function limitRoutes(host: ExtensionHost) {
  const readClients = createSharedRead(() => readLimitedClients(host), SCAN_FRESH_MS);
  const readLocks = createSharedRead(() => readLockouts(host), SCAN_FRESH_MS);
  return [
    get('/limits', () => readLimitRules(host)),
    get('/limits/clients', withRedis(host, readClients)),
    get('/limits/lockouts', withRedis(host, readLocks)),
    get(
      '/limits/lookup',
      withRedis(host, ({ query }) => lookUpCounts(host, (query as z.output<typeof lookUpQuery>).q)),
      lookUpQuery,
    ),
    {
      method: 'POST',
      path: '/limits/clients/clear',
      input: clearBody,
      action: 'limitCleared',
      recordedAs: ({ input: { name, client } }) => ({
        resource: 'rate-limit',
        record: null,
        details: { limit: name, user: userOfClient(client) },
      }),
      handler: withRedis(host, async ({ input }) => {
        await clearClient(host, input);
        readClients.expire();
      }),
    },
    {
      method: 'POST',
      path: '/limits/lockouts/:id/clear',
      action: 'lockoutCleared',
      // The hash would tell the address to a reader of the trail who guesses it.
      recordedAs: () => ({ resource: 'lockout', record: null }),
      async handler({ params, user }) {
        await clearLockout(host, params.id!, user);
        readLocks.expire();
      },
    },
    {
      method: 'POST',
      path: '/limits/accounts/:id/unlock',
      action: 'accountUnlocked',
      recordedAs: ({ params: { id } }) => ({ resource: 'user', record: isId(id) ? id : null }),
      async handler({ params, user }) {
        await unlockAccount(host, params.id!, user);
        readLocks.expire();
      },
    },
  ] satisfies ConsoleRoute[];
}

/**
 * The tab of the console about the running app: its servers, processes, queues, limits and slow work. All pages that one process serves share
 * their reads for a short time. In production it has no log.
 */
export function createOperationsTab(host: ExtensionHost): ConsoleTab {
  const readList = createSharedRead(() => readProcesses(host), FRESH_MS);
  const readAllQueues = createSharedRead(async () => readQueues(host, await readList()), FRESH_MS);
  const sources = {
    readPostgres: createPostgresReader(host),
    readRedis: () => readRedisState(host),
    readList,
    readQueues: readAllQueues,
  };
  const readAll = createSharedRead(() => readOverview(host, sources), FRESH_MS);
  const readChecks = createSharedRead(
    async () => ({ at: new Date().toISOString(), findings: await host.diagnose() }),
    CHECKS_FRESH_MS,
  );
  const readSlow = createSharedRead(() => readSlowWork(host), FRESH_MS);
  const { logTail } = host;
  return {
    id: 'operations',
    label: 'Operations',
    concerns: async () => toConsoleConcerns(await readAll()),
    routes: [
      get('/overview', async ({ req }) => translateOverview(await readAll(), host.languages.for(req))),
      get('/checks', async ({ req }): Promise<Checks> => {
        const { members } = host.languages.for(req);
        const { at, findings } = await readChecks();
        return { at, findings: findings.map((finding) => members(finding, ['message', 'fix'])) };
      }),
      get('/processes', async ({ req }): Promise<Processes> => {
        const list = await readList();
        const translated = host.languages.for(req).members(list, ['problem']);
        return { ...translated, requests: summarizeRequests(list.processes) };
      }),
      ...workRoutes(host, readList, readAllQueues),
      ...limitRoutes(host),
      get('/slow', withRedis(host, readSlow)),
      get('/slow/statistics', () => readStatementStatistics(host)),
      {
        method: 'POST',
        path: '/slow/clear',
        action: 'slowLogCleared',
        handler: withRedis(host, async () => {
          await host.processes.notify('slow log cleared', {});
          readSlow.expire();
        }),
      },
      ...(logTail === undefined
        ? []
        : [
            get(
              '/log',
              withRedis(host, ({ query }) => logTail.read((query as z.output<typeof logQuery>).after)),
              logQuery,
            ),
          ]),
    ],
  };
}
