import type { Looking } from '../declare/host.ts';
import type { PolicyArguments } from '../declare/policy.ts';
import type { IfMatch } from './if-match.ts';

/** Who looks, and the services that the project's functions get meanwhile: those of the transaction, where it is in one. */
export interface Looker extends Looking {
  service: PolicyArguments['service'];
}

/** On whose behalf an operation runs. */
export interface Acting extends Looker {
  requestId?: string | undefined;
  /** Code without a user: everything is validated, no policy is asked, no scope applies. */
  system: boolean;
  /** Of a change or removal: the record must have one of these versions. */
  ifMatch?: IfMatch | undefined;
}

/** What policy functions are called with. @param doc the record in question, where there is one */
export function policyArguments({ user, req, service }: Looker, action: string, doc: unknown): PolicyArguments {
  return { user, action, doc, req, service };
}
