import type { Span, Tracing } from '../../../platform/observability/tracing.ts';
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

function startAttemptSpan(
  tracing: Tracing,
  target: Target | Error,
  { id, eventId, type, attempt, trace }: ClaimedDelivery,
  endpointId: string,
): Span | undefined {
  if (trace === null) return undefined;
  return tracing.startSpan({
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
}

/**
 * Makes an attempt. If the event of the delivery belongs to a recorded trace, the attempt is a span of that trace, and the request carries
 * its `traceparent`.
 */
export async function makeTracedAttempt(
  { tracing, sender, endpointId }: { tracing: Tracing; sender: Sender; endpointId: string },
  target: Target | Error,
  delivery: ClaimedDelivery,
  body: string,
): Promise<Outcome> {
  const span = startAttemptSpan(tracing, target, delivery, endpointId);
  const traceparent = tracing.isPropagated ? span?.traceparent : undefined;
  const outcome = await makeAttempt(sender, target, { messageId: delivery.messageId, body, traceparent });
  span?.end({
    error: errorTypeOfOutcome(outcome),
    attributes: { 'http.response.status_code': outcome.statusCode ?? undefined },
  });
  return outcome;
}
