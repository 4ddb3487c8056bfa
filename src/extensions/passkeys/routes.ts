import { z } from 'zod';
import { type Route, withoutCaching } from '../../extension/index.ts';
import { finishConfirmation, finishSignIn, startConfirmation, startSignIn } from './authentication.ts';
import { listOwnPasskeys, removeOwnPasskey, removePasskeysByAdmin, renameOwnPasskey } from './passkeys.ts';
import { finishRegistration, startRegistration } from './registration.ts';
import { finishSecondFactor } from './second-factor.ts';
import type { PasskeyContext } from './settings.ts';
import {
  confirmationInput,
  creationOptionsShape,
  passkeyShape,
  registrationInput,
  removeByAdminInput,
  renameInput,
  requestOptionsShape,
  secondFactorInput,
  signInInput,
  signInOptionsShape,
  startRegistrationInput,
} from './shapes.ts';

const tags = ['passkeys'];

/** The routes with which users manage their own passkeys. */
function ownPasskeyRoutes(context: PasskeyContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/passkeys/options',
      recentSignIn: true,
      rateLimit: 'auth',
      input: startRegistrationInput,
      output: creationOptionsShape,
      errors: ['LIMIT_REACHED', 'RATE_LIMITED'],
      operationId: 'startPasskeyRegistration',
      tags,
      summary: 'Get the options to create a passkey',
      handler: withoutCaching(context, startRegistration),
    },
    {
      method: 'POST',
      path: '/auth/passkeys',
      recentSignIn: true,
      rateLimit: 'auth',
      input: registrationInput,
      output: passkeyShape,
      errors: ['INVALID_TOKEN', 'CONFLICT', 'LIMIT_REACHED'],
      status: 201,
      operationId: 'addPasskey',
      tags,
      summary: 'Add a passkey to your account',
      handler: withoutCaching(context, finishRegistration),
    },
    {
      method: 'GET',
      path: '/auth/passkeys',
      output: z.array(passkeyShape),
      errors: [],
      operationId: 'listMyPasskeys',
      tags,
      summary: 'List your passkeys, oldest first',
      handler: withoutCaching(context, listOwnPasskeys),
    },
    {
      method: 'PATCH',
      path: '/auth/passkeys/:passkeyId',
      input: renameInput,
      output: passkeyShape,
      errors: ['NOT_FOUND'],
      operationId: 'renameMyPasskey',
      tags,
      summary: 'Rename a passkey',
      handler: withoutCaching(context, renameOwnPasskey),
    },
    {
      method: 'DELETE',
      path: '/auth/passkeys/:passkeyId',
      recentSignIn: true,
      errors: ['NOT_FOUND', 'CONFLICT'],
      status: 204,
      operationId: 'removeMyPasskey',
      tags,
      summary: 'Remove a passkey',
      description: 'The last way to sign in cannot be removed.',
      handler: withoutCaching(context, removeOwnPasskey),
    },
  ];
}

/** The routes with which users sign in, or confirm that they are the user of their session. */
function signInRoutes(context: PasskeyContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/passkeys/sign-in/options',
      policy: 'public',
      rateLimit: 'auth',
      output: signInOptionsShape,
      errors: [],
      operationId: 'startPasskeySignIn',
      tags,
      summary: 'Get the options to sign in with a passkey',
      handler: withoutCaching(context, startSignIn),
    },
    {
      method: 'POST',
      path: '/auth/passkeys/sign-in',
      policy: 'public',
      rateLimit: 'auth',
      input: signInInput,
      get output() {
        return context.accounts.loginOutput();
      },
      errors: ['FORBIDDEN', 'RATE_LIMITED'],
      operationId: 'signInWithPasskey',
      tags,
      summary: 'Sign in with a passkey',
      handler: withoutCaching(context, finishSignIn),
    },
    {
      method: 'POST',
      path: '/auth/passkeys/confirm/options',
      rateLimit: 'auth',
      output: requestOptionsShape,
      errors: ['CONFLICT'],
      operationId: 'startPasskeyConfirmation',
      tags,
      summary: 'Get the options to confirm with a passkey that you are the user',
      handler: withoutCaching(context, startConfirmation),
    },
    {
      method: 'POST',
      path: '/auth/passkeys/confirm',
      rateLimit: 'auth',
      input: confirmationInput,
      errors: ['INVALID_TOKEN'],
      status: 204,
      operationId: 'confirmWithPasskey',
      tags,
      summary: 'Confirm with a passkey, so that your session counts as a recent sign-in',
      handler: withoutCaching(context, finishConfirmation),
    },
  ];
}

function secondFactorRoute(context: PasskeyContext): Route {
  return {
    method: 'POST',
    path: '/auth/passkeys/second-factor',
    policy: 'public',
    rateLimit: 'auth',
    input: secondFactorInput,
    get output() {
      return context.accounts.loginOutput();
    },
    errors: ['FORBIDDEN'],
    operationId: 'verifyPasskeySecondFactor',
    tags,
    summary: 'Finish a login with a passkey as the second factor',
    handler: withoutCaching(context, finishSecondFactor),
  };
}

/** The routes of passkeys. Their responses must not be cached. */
export function passkeyRoutes(context: PasskeyContext): Route[] {
  return [
    ...ownPasskeyRoutes(context),
    ...signInRoutes(context),
    {
      method: 'DELETE',
      path: '/admin/users/:id/passkeys',
      policy: 'admin',
      resource: 'user',
      recentSignIn: true,
      rateLimit: 'auth',
      input: removeByAdminInput,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED'],
      status: 204,
      operationId: 'removePasskeysOfUser',
      tags,
      summary: 'Remove all passkeys of a user who has lost them',
      description:
        'An admin who has two-factor login must send a code of their own. For a privileged account, the admin must have a second factor.',
      handler: withoutCaching(context, removePasskeysByAdmin),
    },
    ...(context.settings.secondFactor ? [secondFactorRoute(context)] : []),
  ];
}
