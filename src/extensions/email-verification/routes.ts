import { z } from 'zod';
import { type Route, withoutCaching } from '../../extension/index.ts';
import { confirmChange, requestChange, undoChange } from './change.ts';
import type { EmailVerificationContext } from './context.ts';
import { changeInput, confirmInput, messageShape, undoInput, verifiedShape, verifyInput } from './shapes.ts';
import { requestVerification, verifyAddress } from './verify.ts';

/** The routes that verify, change and restore the e-mail address of an account. Their responses must not be cached. */
export function emailVerificationRoutes(context: EmailVerificationContext): Route[] {
  const tags = ['auth'];
  return [
    {
      method: 'POST',
      path: '/auth/email/verification',
      rateLimit: 'auth',
      output: messageShape,
      errors: ['CONFLICT'],
      status: 202,
      operationId: 'requestEmailVerification',
      tags,
      summary: 'Request another e-mail with a link and a code that verify your address',
      handler: withoutCaching(context, requestVerification),
    },
    {
      method: 'POST',
      path: '/auth/email/verify',
      policy: 'public',
      rateLimit: 'auth',
      input: verifyInput,
      get output() {
        return z.union([verifiedShape, context.accounts.loginOutput()]);
      },
      errors: ['INVALID_TOKEN', 'FORBIDDEN', 'RATE_LIMITED'],
      operationId: 'verifyEmail',
      tags,
      summary: 'Verify your e-mail address with the token or the code of the e-mail',
      description:
        'Requires a session of the account, or the `verificationToken` of a registration or login that waits for this; then the response contains the new session.',
      handler: withoutCaching(context, verifyAddress),
    },
    {
      method: 'POST',
      path: '/auth/email',
      rateLimit: 'auth',
      recentSignIn: true,
      input: changeInput,
      output: messageShape,
      errors: ['RATE_LIMITED'],
      status: 202,
      operationId: 'requestEmailChange',
      tags,
      summary: 'Request the change of your e-mail address',
      description: 'The address changes when you confirm it with the link or the code that is sent to the new address.',
      handler: withoutCaching(context, requestChange),
    },
    {
      method: 'POST',
      path: '/auth/email/confirm',
      rateLimit: 'auth',
      input: confirmInput,
      output: verifiedShape,
      errors: ['INVALID_TOKEN', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'confirmEmailChange',
      tags,
      summary: 'Confirm your new e-mail address; all your other sessions end',
      handler: withoutCaching(context, confirmChange),
    },
    {
      method: 'POST',
      path: '/auth/email/undo',
      policy: 'public',
      rateLimit: 'auth',
      input: undoInput,
      errors: ['INVALID_TOKEN', 'CONFLICT'],
      status: 204,
      operationId: 'undoEmailChange',
      tags,
      summary: 'Undo the change of an e-mail address with the link that was sent to the former address',
      description:
        'All sessions end, and the password no longer works. An e-mail with a link to choose a new one follows.',
      handler: withoutCaching(context, undoChange),
    },
  ];
}
