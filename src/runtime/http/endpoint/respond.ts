import type { Host } from '../../../declare/host.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { setResponseBytes } from '../../../platform/http/pending-responses.ts';
import { createSuccessResponse, mapResponseData, sendSuccess, withVersion } from '../../../platform/http/response.ts';
import type { Records } from '../../../records/index.ts';
import { findStoredRecord, serializeResponse } from '../../../records/serialize/serialize.ts';
import { findVersion } from '../../../records/store/versions.ts';
import { endRequestSpan } from '../tracing.ts';
import { type Exchange, runStages, type Stage } from './exchange.ts';
import { hasEntityTag, statusOf } from './route-traits.ts';

function createContext(
  { caller, input, params, query, body, doc, req, res }: Exchange,
  { service, transaction, push, senders, log }: Host,
): RouteContext {
  return {
    user: caller.user,
    auth: caller.auth,
    input,
    params,
    query,
    body,
    doc,
    req,
    res,
    service,
    transaction,
    push,
    mail: senders.mail,
    webhooks: senders.webhooks,
    jobs: senders.jobs,
    log,
  };
}

/** Creates the stage that calls the handler. @param access the stages that a handler that waits can repeat */
export function runHandler({ handler, waits }: Route, host: Host, access: readonly Stage[]): Stage {
  const enterContext = (exchange: Exchange): RouteContext => {
    exchange.context = createContext(exchange, host);
    if (waits)
      exchange.context.authorizeAgain = async () => {
        await runStages(access, exchange);
        return enterContext(exchange);
      };
    return exchange.context;
  };
  return {
    name: 'run the handler',
    async run(exchange) {
      exchange.value = await handler(enterContext(exchange));
    },
  };
}

/** Creates the stage that turns the handler's value into the response, unless the handler has sent the response itself. */
export function serialize(route: Route, { context, entities }: Records): Stage {
  const status = statusOf(route);
  async function serializeValue(exchange: Exchange): Promise<void> {
    const { value } = exchange;
    const serialized = await mapResponseData(value, (data) => {
      exchange.data = data;
      return serializeResponse(context, data, exchange.context!);
    });
    exchange.response = createSuccessResponse(
      status,
      withVersion(serialized, findVersion(entities, findStoredRecord(value))),
    );
  }
  return {
    name: 'serialize',
    run(exchange) {
      const { req, res } = exchange;
      if (!res.headersSent) return serializeValue(exchange);
      // Count the bytes that wait to be sent: this response can no longer be refused, but the client's next ones can.
      setResponseBytes(req, res.writableLength, true);
      endRequestSpan(req, res.statusCode);
    },
  };
}

/** Creates the stage that sends the response, unless the handler has sent it itself. */
export function send(route: Route): Stage {
  const isTagged = hasEntityTag(route);
  return {
    name: 'send',
    run({ res, response, caller }) {
      if (response !== undefined) sendSuccess(res, response, isTagged ? (caller.user?.id ?? '') : undefined);
    },
  };
}
