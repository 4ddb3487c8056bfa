import type { FeatureParts } from '../../declare/extension.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { AccountsContext } from '../context.ts';
import { createResetComposer, forgot, forgotInput, forgotOutput, RESET_MAIL } from './request.ts';
import { reset, resetInput } from './reset.ts';
import { resetSweep, resetsOfDeletedUsers } from './store.ts';

export { createResets } from './store.ts';
export { passwordResets } from './tables.ts';

/** Passwords that are forgotten: the routes, and the e-mail with the link. */
export function resetFeature(accounts: AccountsContext, users: ResourceGateway) {
  const tags = ['auth'];
  return {
    routes: [
      {
        method: 'POST',
        path: '/auth/password/forgot',
        policy: 'public',
        rateLimit: 'auth',
        input: forgotInput,
        output: forgotOutput,
        errors: [],
        status: 202,
        operationId: 'forgotPassword',
        tags,
        summary: 'Ask for a link to choose a new password, by e-mail',
        handler: (ctx) => forgot(accounts, ctx),
      },
      {
        method: 'POST',
        path: '/auth/password/reset',
        policy: 'public',
        rateLimit: 'auth',
        input: resetInput,
        errors: ['INVALID_TOKEN'],
        status: 204,
        operationId: 'resetPassword',
        tags,
        summary: 'Choose a new password with the token of such a link; all sessions end',
        handler: (ctx) => reset(accounts, ctx),
      },
    ],
    mails: { [RESET_MAIL]: createResetComposer(accounts) },
    consumers: [resetsOfDeletedUsers(users)],
    sweeps: [resetSweep(accounts.host.database)],
  } satisfies FeatureParts;
}
