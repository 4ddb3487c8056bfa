import type { Endpoint } from '../responses.ts';

type State = Endpoint['status'] | 'retrying';
type StateFacts = Pick<Endpoint, 'status' | 'lastFailureAt' | 'lastSuccessAt'>;

/** The state of an endpoint, as the server decides it for the console and the command line: `retrying` if the last attempt failed. */
export function getState({ status, lastFailureAt, lastSuccessAt }: StateFacts): State {
  const hasFailed = lastFailureAt !== null && (lastSuccessAt === null || lastFailureAt > lastSuccessAt);
  return status === 'active' && hasFailed ? 'retrying' : status;
}
