/** The states of endpoints for people. In the API, `status` is `active` for those that are `retrying`. */
export const ENDPOINT_STATES = ['active', 'retrying', 'failing', 'disabled'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

/** What the state of an endpoint depends on. */
interface EndpointStateFacts {
  enabled: boolean;
  consecutiveFailures: number;
  /** ISO 8601. */
  lastSuccessAt: string | null;
  /** ISO 8601. */
  lastFailureAt: string | null;
}

/**
 * Decides the state of an endpoint. The first that applies:
 *
 * - `disabled`: it is not enabled.
 * - `failing`: a delivery has failed in all attempts since the last success. `consecutive_failures` counts these deliveries, without tests.
 * - `retrying`: the last attempt failed, that of a test too.
 * - `active`: the last attempt succeeded, or there was none.
 *
 * An attempt that succeeds ends `failing` and `retrying`. No other place decides a state.
 */
export function getEndpointState(endpoint: EndpointStateFacts): EndpointState {
  const { enabled, consecutiveFailures, lastSuccessAt, lastFailureAt } = endpoint;
  if (!enabled) return 'disabled';
  if (consecutiveFailures > 0) return 'failing';
  const hasFailed =
    lastFailureAt !== null && (lastSuccessAt === null || Date.parse(lastFailureAt) > Date.parse(lastSuccessAt));
  return hasFailed ? 'retrying' : 'active';
}

/** `getEndpointState` of endpoint `e` in SQL, for statements that filter or count by state. Reads only the row of the endpoint. */
export const ENDPOINT_STATE = `case when not e.enabled then 'disabled' when e.consecutive_failures > 0 then 'failing'
  when e.last_failure_at > coalesce(e.last_success_at, '-infinity') then 'retrying' else 'active' end`;
