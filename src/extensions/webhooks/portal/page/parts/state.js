/** The state of an endpoint, as the console and the command line show it: `retrying` if the last attempt failed. */
export function stateOf({ status, lastFailureAt, lastSuccessAt }) {
  const hasFailed = lastFailureAt !== null && (lastSuccessAt === null || lastFailureAt > lastSuccessAt);
  return status === 'active' && hasFailed ? 'retrying' : status;
}
