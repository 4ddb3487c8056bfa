import { type RequestHandler, urlencoded } from 'express';
import { ApiError, type Route, withoutCaching } from '../../extension/index.ts';
import { finishAtProvider } from './callback.ts';
import type { OidcContext } from './context.ts';
import { completeLink, exchangeCode } from './exchange.ts';
import { createNonce, signInWithIdToken } from './native.ts';
import {
  exchangeInput,
  linkInput,
  linkShape,
  nonceShape,
  providersShape,
  startQuery,
  ticketQuery,
  tokenInput,
} from './shapes.ts';
import { createLinkTicket, startLink, startSignIn } from './start.ts';

/** The form in which a provider posts the user back. Its size is limited, because anyone can send one. */
const parseForm = urlencoded({ extended: false, limit: 65_536, parameterLimit: 50 });
const readForm: RequestHandler = (req, res, next) =>
  parseForm(req, res, (error?: unknown) =>
    error === undefined ? next() : next(new ApiError('BAD_REQUEST', 'The form could not be read', { cause: error })),
  );

const tags = ['oidc'];

/** The routes with which users sign in on the web: at the provider, and back. */
function webRoutes(context: OidcContext): Route[] {
  const listProviders = () =>
    Array.from(context.clients.values(), ({ provider, settings: { name = provider, icon } }) => ({
      provider,
      name,
      ...(icon !== undefined && { icon }),
    }));
  return [
    {
      method: 'GET',
      path: '/auth/oidc',
      policy: 'public',
      output: providersShape,
      errors: [],
      operationId: 'listSignInProviders',
      tags,
      summary: 'List the providers with which users can sign in',
      handler: listProviders,
    },
    {
      method: 'GET',
      path: '/auth/oidc/:provider/start',
      policy: 'public',
      rateLimit: 'auth',
      query: startQuery,
      // Browsers open it; it returns no data.
      hidden: true,
      handler: withoutCaching(context, startSignIn),
    },
    {
      method: 'GET',
      path: '/auth/oidc/:provider/callback',
      policy: 'public',
      hidden: true,
      handler: withoutCaching(context, finishAtProvider),
    },
    {
      method: 'POST',
      path: '/auth/oidc/:provider/callback',
      policy: 'public',
      hidden: true,
      middleware: [readForm],
      handler: withoutCaching(context, finishAtProvider),
    },
    {
      method: 'POST',
      path: '/auth/oidc/exchange',
      policy: 'public',
      rateLimit: 'auth',
      input: exchangeInput,
      get output() {
        return context.accounts.loginOutput();
      },
      errors: ['UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'exchangeSignInCode',
      tags,
      summary: 'Sign in after the return from a provider',
      description: 'Your page gets the code in its query. It works once, within a minute, with the code verifier.',
      handler: withoutCaching(context, exchangeCode),
    },
  ];
}

/** The routes with which apps sign in with the SDK of a provider. */
function nativeRoutes(context: OidcContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/oidc/:provider/nonce',
      policy: 'public',
      rateLimit: 'auth',
      output: nonceShape,
      errors: ['NOT_FOUND', 'RATE_LIMITED'],
      operationId: 'createSignInNonce',
      tags,
      summary: 'Create a nonce with which an app requests an ID token',
      handler: withoutCaching(context, createNonce),
    },
    {
      method: 'POST',
      path: '/auth/oidc/:provider/token',
      policy: 'public',
      rateLimit: 'auth',
      input: tokenInput,
      get output() {
        return context.accounts.loginOutput();
      },
      errors: ['NOT_FOUND', 'UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED', 'UNAVAILABLE'],
      operationId: 'signInWithIdToken',
      tags,
      summary: 'Sign in with an ID token from the SDK of a provider',
      handler: withoutCaching(context, signInWithIdToken),
    },
  ];
}

/** The routes with which signed-in users link an account at a provider. */
function linkRoutes(context: OidcContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/oidc/:provider/link',
      recentSignIn: true,
      rateLimit: 'auth',
      input: linkInput,
      output: linkShape,
      errors: ['NOT_FOUND', 'RATE_LIMITED'],
      operationId: 'linkIdentity',
      tags,
      summary: 'Start linking an account at a provider to your account',
      handler: withoutCaching(context, createLinkTicket),
    },
    {
      method: 'GET',
      path: '/auth/oidc/:provider/link',
      policy: 'public',
      rateLimit: 'auth',
      query: ticketQuery,
      hidden: true,
      handler: withoutCaching(context, startLink),
    },
    {
      method: 'POST',
      path: '/auth/oidc/:provider/link/complete',
      recentSignIn: true,
      rateLimit: 'auth',
      input: exchangeInput,
      status: 204,
      errors: ['NOT_FOUND', 'UNAUTHORIZED', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'completeIdentityLink',
      tags,
      summary: 'Link the account at a provider from which you have returned',
      handler: withoutCaching(context, completeLink),
    },
  ];
}

/** The routes of the extension. Their responses must not be cached. */
export const oidcRoutes = (context: OidcContext): Route[] => [
  ...webRoutes(context),
  ...nativeRoutes(context),
  ...linkRoutes(context),
];
