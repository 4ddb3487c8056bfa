import type { Tracing } from '../../../../extension/index.ts';
import { makeAttempt, type Outcome, type Sender, type Target } from './attempt.ts';
import type { ClaimedDelivery } from './claim.ts';

/** The kind of failure for `error.type`: the status of the response, or the text for the endpoint's owner, such as `timeout`. */
function errorTypeOfOutcome({ ok, statusCode, error }: Outcome): string | undefined {
  return ok ? undefined : String(statusCode ?? error);
}

/** The URL of an endpoint may contain secrets in its path and query, so spans contain only the server. */
function serverOf({ protocol, hostname, port }: URL) {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { 'server.address': hostname, 'server.port': port === '' ? defaultPort : Number(port) };
}

/** What a traced attempt needs. */
interface TracedAttemptParts {
  tracing: Tracing;
  sender: Sender;
  /** The id of the endpoint. */
  endpointId: string;
}

async function makeAttemptInSpan(
  { tracing, sender, endpointId }: TracedAttemptParts,
  target: Target | Error,
  { id, eventId, messageId, type, attempt, trace, isBackfill }: ClaimedDelivery & { trace: string },
  body: string,
): Promise<Outcome> {
  const span = tracing.startSpan({
    name: 'POST webhook',
    kind: 'client',
    parent: trace,
    attributes: {
      'http.request.method': 'POST',
      'http.request.resend_count': attempt > 1 ? attempt - 1 : undefined,
      ...(target instanceof Error ? {} : serverOf(target.url)),
      'belfry.event.name': type,
      'belfry.event.id': eventId,
      'belfry.webhook.endpoint': endpointId,
      'belfry.webhook.delivery': id,
    },
  });
  const traceparent = tracing.isPropagated ? span?.traceparent : undefined;
  const outcome = await makeAttempt(sender, target, { messageId, body, traceparent, isBackfill });
  span?.end({
    error: errorTypeOfOutcome(outcome),
    attributes: { 'http.response.status_code': outcome.statusCode ?? undefined },
  });
  return outcome;
}

/**
 * Makes an attempt. If the event of the delivery belongs to a recorded trace, the attempt is a span of that trace, and the request carries
 * its `traceparent`.
 */
export function makeTracedAttempt(
  parts: TracedAttemptParts,
  target: Target | Error,
  delivery: ClaimedDelivery,
  body: string,
): Promise<Outcome> {
  const { messageId, trace, isBackfill } = delivery;
  return trace === null
    ? makeAttempt(parts.sender, target, { messageId, body, isBackfill })
    : makeAttemptInSpan(parts, target, { ...delivery, trace }, body);
}
