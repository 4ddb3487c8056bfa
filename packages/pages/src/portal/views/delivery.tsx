import { Copyable } from '../../kit/copy.tsx';
import { Time } from '../../kit/format.tsx';
import { Facts, Status, type StatusKind } from '../../kit/parts.tsx';
import type { AttemptResult, Delivery, DeliveryStatus } from '../responses.ts';

const KINDS: Record<DeliveryStatus, StatusKind> = {
  succeeded: 'good',
  failed: 'bad',
  pending: 'warn',
  sending: 'warn',
};
/** In the order in which they are offered as filters. */
export const STATUS_TEXTS: Record<DeliveryStatus, string> = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  pending: 'Waiting',
  sending: 'Sending',
};

export function DeliveryBadge({ status }: { status: DeliveryStatus }) {
  return <Status kind={KINDS[status]}>{STATUS_TEXTS[status]}</Status>;
}

/** The result of an attempt: the status, or the error, and its duration. */
export function summarize({ statusCode, error, durationMs }: AttemptResult): string {
  const result = statusCode === null ? (error ?? '') : `Status ${statusCode}`;
  return durationMs === null || result === '' ? result : `${result} · ${durationMs} ms`;
}

/** The error of an attempt, if it says more than the status of the response. */
const findCause = ({ error, statusCode }: AttemptResult) => (error === `status ${statusCode}` ? null : error);

const LONG_NUMBER = /\d{16}/;

function formatBody(payload: string, isTruncated: boolean): string {
  if (isTruncated) return `${payload}…`;
  // Parsing would round a long number.
  if (LONG_NUMBER.test(payload)) return payload;
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return payload;
    throw error;
  }
}

function Attempts({ log }: { log: Delivery['attemptLog'] }) {
  if (log.length === 0) return undefined;
  return (
    <>
      <h3>Attempts</h3>
      <ol class="attempts">
        {log.map((each, i) => (
          <li key={i}>
            <Time value={each.at} /> ·{' '}
            <span>
              {summarize(each) || 'No response'}
              {each.statusCode !== null && findCause(each) ? ` · ${each.error}` : ''}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** The body that was sent, the response and the attempts of a delivery. All of them may contain anything, so they are shown as text. */
export function DeliveryDetails({ delivery }: { delivery: Delivery }) {
  const { messageId, payload, payloadTruncated, response, attemptLog, nextAttemptAt } = delivery;
  const cause = findCause(delivery);
  return (
    <div class="details">
      {cause && (
        <p>
          <strong>Error:</strong> {cause}
        </p>
      )}
      {nextAttemptAt && (
        <p>
          Next attempt <Time value={nextAttemptAt} />.
        </p>
      )}
      <Attempts log={attemptLog} />
      <h3>Request body</h3>
      {payload === null ? (
        <p class="soft">Not shown: you may no longer read this data.</p>
      ) : (
        <Copyable block text={formatBody(payload, payloadTruncated)} label="the request body" />
      )}
      <h3>Response</h3>
      {response ? <Copyable block text={response} label="the response" /> : <p class="soft">No text.</p>}
      <Facts
        of={[
          ['Delivery', <code key="id">{delivery.id}</code>],
          ['Message (webhook-id)', <code key="message">{messageId}</code>],
        ]}
      />
    </div>
  );
}

/** A delivery that has just been sent, in a notice. */
export function DeliveryResult({ delivery }: { delivery: Delivery }) {
  return (
    <div class="result">
      <p>
        <DeliveryBadge status={delivery.status} /> {summarize(delivery) || 'No worker has sent it yet.'}
      </p>
      <DeliveryDetails delivery={delivery} />
    </div>
  );
}
