import { Time } from '../../kit/format.tsx';
import { numberText } from '../../kit/numbers.ts';
import { Status } from '../../kit/parts.tsx';
import { richText } from '../../kit/rich-text.ts';
import { ENDPOINT_KINDS } from '../../kit/states.ts';
import type { Endpoint } from '../responses.ts';
import { texts } from '../texts.ts';

export function StatusBadge({ endpoint: { status } }: { endpoint: Endpoint }) {
  return <Status kind={ENDPOINT_KINDS[status]}>{texts.states[status]}</Status>;
}

/** The state of an endpoint in a sentence. */
export function Health({ endpoint }: { endpoint: Endpoint }) {
  const { status, disabledReason, lastSuccessAt, lastFailureAt, lastError, filterError, as, waiting, oldestWaitingAt } =
    endpoint;
  const { health } = texts;
  return (
    <p class="soft health">
      {status === 'disabled' && <span>{health.disabled(health.reasons[disabledReason ?? 'unknown'])} </span>}
      {filterError && <span>{health.filterError(filterError)} </span>}
      {lastSuccessAt ? (
        <span>{richText(health.success, { time: <Time value={lastSuccessAt} /> })} </span>
      ) : (
        <span>{health.noSuccess} </span>
      )}
      {lastFailureAt && (
        <span>
          {richText(lastError ? health.failureWithCause : health.failure, {
            time: <Time value={lastFailureAt} />,
            cause: lastError && <span class="cause">{lastError}</span>,
          })}
        </span>
      )}
      {waiting !== undefined && oldestWaitingAt && (
        <span> {richText(health.waiting(numberText(waiting)), { time: <Time value={oldestWaitingAt} /> })}</span>
      )}
      {as && <span> {health.role(as)}</span>}
    </p>
  );
}
