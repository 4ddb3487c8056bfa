import type { z } from 'zod';
import { newSessionShape, type Route, type RouteContext, withoutCaching } from '../../extension/index.ts';
import { verifyCodeAndResumeLogin } from './challenge.ts';
import { disableFactorByAdmin, disableOwnFactor, renewRecoveryCodes } from './changes.ts';
import type { TwoFactorContext } from './context.ts';
import { confirmEnrolment, startEnrolment } from './enrolment.ts';
import {
  codeInput,
  disableByAdminInput,
  disableInput,
  enrolmentShape,
  passwordInput,
  recoveryCodesShape,
  renewInput,
  statusShape,
  verifyInput,
} from './shapes.ts';
import { SELECT_STATUS } from './sql.ts';

/** `GET /auth/2fa`. */
async function readTwoFactorStatus(
  { host }: TwoFactorContext,
  ctx: RouteContext,
): Promise<z.input<typeof statusShape>> {
  const statement = { text: SELECT_STATUS, values: [ctx.user!.id] };
  const [row] = await host.database.read<[enabledAt: string, codes: number]>(statement);
  const [enabledAt, codes] = row ?? [null, 0];
  const methods = codes > 0 ? (['totp', 'recovery'] as const) : (['totp'] as const);
  return {
    enabled: row !== undefined,
    methods: row === undefined ? [] : [...methods],
    recoveryCodesLeft: codes,
    enabledAt,
  };
}

const tags = ['two-factor'];

/** The routes with which users set up two-factor authentication, and finish a login with it. */
function setupAndLoginRoutes(context: TwoFactorContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/auth/2fa',
      output: statusShape,
      errors: [],
      operationId: 'readTwoFactor',
      tags,
      summary: 'Read the two-factor status of your account',
      handler: withoutCaching(context, readTwoFactorStatus),
    },
    {
      method: 'POST',
      path: '/auth/2fa/enrol',
      rateLimit: 'auth',
      input: passwordInput,
      output: enrolmentShape,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      operationId: 'enrolTwoFactor',
      tags,
      summary: 'Create a secret for your authenticator app',
      description:
        'Two-factor authentication stays disabled until you confirm the secret with a code. The secret expires after an hour.',
      handler: withoutCaching(context, startEnrolment),
    },
    {
      method: 'POST',
      path: '/auth/2fa/confirm',
      rateLimit: 'auth',
      input: codeInput,
      output: recoveryCodesShape,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      operationId: 'confirmTwoFactor',
      tags,
      summary: 'Enable two-factor authentication with a code from the app',
      handler: withoutCaching(context, confirmEnrolment),
    },
    {
      method: 'POST',
      path: '/auth/2fa/verify',
      policy: 'public',
      rateLimit: 'auth',
      input: verifyInput,
      output: newSessionShape,
      errors: ['FORBIDDEN', 'RATE_LIMITED'],
      operationId: 'verifyTwoFactor',
      tags,
      summary: 'Finish a login with a code',
      handler: withoutCaching(context, verifyCodeAndResumeLogin),
    },
  ];
}

/** The routes that change or disable two-factor authentication. */
function changeRoutes(context: TwoFactorContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/2fa/disable',
      rateLimit: 'auth',
      input: disableInput,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      status: 204,
      operationId: 'disableTwoFactor',
      tags,
      summary: 'Disable two-factor authentication',
      handler: withoutCaching(context, disableOwnFactor),
    },
    {
      method: 'POST',
      path: '/auth/2fa/recovery-codes',
      rateLimit: 'auth',
      input: renewInput,
      output: recoveryCodesShape,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      operationId: 'renewRecoveryCodes',
      tags,
      summary: 'Replace your recovery codes',
      description: 'Requires a code from the app or an unused recovery code. The password alone is not enough.',
      handler: withoutCaching(context, renewRecoveryCodes),
    },
    {
      method: 'DELETE',
      path: '/admin/users/:id/2fa',
      policy: 'admin',
      resource: 'user',
      recentSignIn: true,
      rateLimit: 'auth',
      input: disableByAdminInput,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED'],
      status: 204,
      operationId: 'disableTwoFactorOfUser',
      tags,
      summary: 'Disable two-factor authentication of a user who can no longer sign in',
      description:
        'An admin who has a second factor must send a code of their own. For a privileged account, the admin must have one.',
      handler: withoutCaching(context, disableFactorByAdmin),
    },
  ];
}

/** The routes of two-factor. Their responses must not be cached. */
export const twoFactorRoutes = (context: TwoFactorContext): Route[] => [
  ...setupAndLoginRoutes(context),
  ...changeRoutes(context),
];
