import type { Request } from 'express';
import type { Viewer } from '../declare/policy.ts';

/** On whose behalf an operation runs. */
export interface Acting {
  user: Viewer | undefined;
  req?: Request | undefined;
  requestId?: string | undefined;
  /** Code without a user: everything is validated, no policy is asked, no scope applies. */
  system: boolean;
}
