import { Copyable } from '../../kit/copy.tsx';
import { durationText, Time } from '../../kit/format.tsx';
import { Facts, Status } from '../../kit/parts.tsx';
import { richText } from '../../kit/rich-text.ts';
import { DELIVERY_KINDS } from '../../kit/states.ts';
import type { AttemptResult, Delivery, DeliveryStatus } from '../responses.ts';
import { texts } from '../texts.ts';

export function DeliveryBadge({ status }: { status: DeliveryStatus }) {
  return <Status kind={DELIVERY_KINDS[status]}>{texts.deliveries.states[status]}</Status>;
}

/** The result of an attempt: the status, or the error, and its duration. */
export function summarize({ statusCode, error, durationMs }: AttemptResult): string {
  const result = statusCode === null ? (error ?? '') : texts.deliveries.responseStatus(statusCode);
  return durationMs === null || result === '' ? result : `${result} · ${durationText(durationMs)}`;
}

/** The error of an attempt, if it says more than the status of the response. */
const findCause = ({ error, statusCode }: AttemptResult) =>
  // "Status 500" in German.
  error === null || error.toLowerCase() === `status ${statusCode}` ? undefined : error;

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
      <h3>{texts.deliveries.attempts}</h3>
      <ol class="attempts">
        {log.map((each, i) => (
          <li key={i}>
            <Time value={each.at} /> ·{' '}
            <span>
              {summarize(each) || texts.deliveries.noResponse}
              {each.statusCode !== null && findCause(each) ? ` · ${findCause(each)}` : ''}
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
          <strong>{texts.deliveries.error}</strong> {cause}
        </p>
      )}
      {nextAttemptAt && <p>{richText(texts.deliveries.nextAttempt, { time: <Time value={nextAttemptAt} /> })}</p>}
      <Attempts log={attemptLog} />
      <h3>{texts.deliveries.requestBody}</h3>
      {payload === null ? (
        <p class="soft">{texts.deliveries.notReadable}</p>
      ) : (
        <Copyable block text={formatBody(payload, payloadTruncated)} label={texts.deliveries.requestBodyLabel} />
      )}
      <h3>{texts.deliveries.response}</h3>
      {response ? (
        <Copyable block text={response} label={texts.deliveries.responseLabel} />
      ) : (
        <p class="soft">{texts.deliveries.noText}</p>
      )}
      <Facts
        of={[
          [texts.deliveries.delivery, <code key="id">{delivery.id}</code>],
          [texts.deliveries.message, <code key="message">{messageId}</code>],
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
        <DeliveryBadge status={delivery.status} /> {summarize(delivery) || texts.deliveries.notSent}
      </p>
      <DeliveryDetails delivery={delivery} />
    </div>
  );
}
