import type { Host } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import { createSuccessResponse, withVersion } from '../../../platform/http/response.ts';
import type { Records } from '../../../records/index.ts';
import { reserveId } from '../../../records/operations/create.ts';
import { findReadableRecords, mayReadAgain } from '../../../records/serialize/response-records.ts';
import { serializeResponse } from '../../../records/serialize/serialize.ts';
import {
  type Attempt,
  createIdempotentRequests,
  type IdempotentRequests,
  readIdempotencyKey,
} from '../idempotency/index.ts';
import { createViewContext, type RepeatCheck } from './access.ts';
import { type Exchange, runStages, type Stage } from './exchange.ts';
import { findEntity, statusOf } from './route-traits.ts';
import { getStreamedBody } from './typed-body.ts';

/** What a route needs to carry repeated requests out once. */
interface Idempotency {
  wasSentBefore: RepeatCheck;
  readKey: Stage;
  /** Creates the stage that runs other stages: once for each key, and always for a request without a key. */
  runOnce(stages: readonly Stage[]): Stage;
}

/** The view context of the caller of a request with a key. */
type Viewing = ReturnType<typeof createViewContext>;

/** The part of an attempt that concerns a record of an earlier attempt. */
type CreatedRecord = Pick<Attempt, 'rebuildCreateResponse' | 'isCreated'>;

/** Creates the function that finds the record that an earlier attempt of a create has stored. Other routes store none. */
function createRecordFinder(
  route: Route,
  records: Records,
): (exchange: Exchange, viewContext: Viewing) => CreatedRecord {
  if (route.idempotent !== 'create')
    return () => ({ rebuildCreateResponse: async () => undefined, isCreated: async () => false });
  const entity = findEntity(route, records);
  const status = statusOf(route);
  // Includes a record that has been soft-deleted since.
  const readRecord = async (id: string) => (entity!.archive?.with ?? entity!.store).read(id);
  return (exchange, viewContext) => ({
    async rebuildCreateResponse(id) {
      const record = await readRecord(id);
      if (record === undefined) return undefined;
      exchange.data = record;
      const serialized = await serializeResponse(records.context, record, viewContext);
      return createSuccessResponse(status, withVersion(serialized, entity!.versionOf(record)));
    },
    isCreated: async (id) => (await readRecord(id)) !== undefined,
  });
}

/** Creates the function that returns what makes requests with one key equal. The body of a streamed route cannot be compared. */
function createComparedBodyGetter(route: Route): (exchange: Exchange) => unknown {
  const isStreamed = getStreamedBody(route) !== undefined;
  return ({ form, body }) => (form === undefined ? (isStreamed ? undefined : body) : form.fingerprint);
}

function createRunOnce(
  route: Route,
  { host, records }: { host: Host; records: Records },
  requests: IdempotentRequests,
): Idempotency['runOnce'] {
  const { context } = records;
  const getComparedBody = createComparedBodyGetter(route);
  const findCreatedRecord = createRecordFinder(route, records);
  return (stages) => {
    async function runUnderKey(exchange: Exchange, key: string): Promise<void> {
      const { req, res, caller } = exchange;
      const viewContext = createViewContext(exchange, host);
      exchange.response = await requests.run({
        req,
        res,
        user: caller.user,
        key,
        body: getComparedBody(exchange),
        async run(recordId) {
          if (exchange.missingError !== undefined) throw exchange.missingError;
          reserveId(req, recordId);
          await runStages(stages, exchange);
          return exchange.response;
        },
        records: () => findReadableRecords(context, exchange.data, viewContext),
        mayReadAgain: (of, data) => mayReadAgain(context, of, data, viewContext),
        ...findCreatedRecord(exchange, viewContext),
      });
    }
    return {
      name: 'once for each idempotency key',
      stages,
      run: (exchange) =>
        exchange.key === undefined ? runStages(stages, exchange) : runUnderKey(exchange, exchange.key),
    };
  };
}

/** Creates what an idempotent route needs; undefined for other routes. */
export function createIdempotency(route: Route, parts: { host: Host; records: Records }): Idempotency | undefined {
  if (!route.idempotent) return undefined;
  const requests = createIdempotentRequests(route, parts.host);
  return {
    async wasSentBefore(req, user) {
      const key = readIdempotencyKey(req);
      return key !== undefined && requests.isRepeated({ req, user, key });
    },
    readKey: {
      name: 'read the idempotency key',
      run(exchange) {
        exchange.key = readIdempotencyKey(exchange.req);
      },
    },
    runOnce: createRunOnce(route, parts, requests),
  };
}
