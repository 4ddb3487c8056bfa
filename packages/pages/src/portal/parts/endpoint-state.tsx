import { Time } from '../../kit/format.tsx';
import { Status } from '../../kit/parts.tsx';
import type { Endpoint } from '../responses.ts';
import { getState } from './state.ts';

const STATES = {
  active: { kind: 'good', text: 'Active' },
  retrying: { kind: 'warn', text: 'Retrying' },
  failing: { kind: 'warn', text: 'Failing' },
  disabled: { kind: 'neutral', text: 'Disabled' },
} as const;

export function StatusBadge({ endpoint }: { endpoint: Endpoint }) {
  const { kind, text } = STATES[getState(endpoint)];
  return <Status kind={kind}>{text}</Status>;
}

const DISABLED_REASONS: Record<NonNullable<Endpoint['disabledReason']>, string> = {
  gone: 'its server responded with 410 (gone)',
  failing: 'too many deliveries failed in a row',
  manual: 'you disabled it',
  password_reset: 'your password was changed or your sessions were ended',
  key_ended: 'the API key that it belongs to has ended',
};

/** The state of an endpoint in a sentence. */
export function Health({ endpoint }: { endpoint: Endpoint }) {
  const { status, disabledReason, lastSuccessAt, lastFailureAt, lastError } = endpoint;
  return (
    <p class="soft health">
      {status === 'disabled' && (
        <span>
          Disabled because {disabledReason === null ? 'it was switched off' : DISABLED_REASONS[disabledReason]}.{' '}
        </span>
      )}
      {lastSuccessAt ? (
        <span>
          Last success <Time value={lastSuccessAt} />.{' '}
        </span>
      ) : (
        <span>No successful delivery yet. </span>
      )}
      {lastFailureAt && (
        <span>
          Last failure <Time value={lastFailureAt} />
          {lastError && (
            <>
              : <span class="cause">{lastError}</span>
            </>
          )}
          .
        </span>
      )}
    </p>
  );
}
