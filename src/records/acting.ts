import type { Request } from 'express';
import type { Viewer } from '../declare/policy.ts';
import type { IfMatch } from './if-match.ts';

/** On whose behalf an operation runs. */
export interface Acting {
  user: Viewer | undefined;
  req?: Request | undefined;
  requestId?: string | undefined;
  /** Code without a user: everything is validated, no policy is asked, no scope applies. */
  system: boolean;
  /** Of a change or removal: the record must have one of these versions. */
  ifMatch?: IfMatch | undefined;
}
