import {
  adminConsole,
  apiKeys,
  audit,
  createApp,
  defineUser,
  emailSignIn,
  emailVerification,
  invitations,
  oidc,
  organisations,
  passkeys,
  privacy,
  realtime,
  securityMails,
  softDelete,
  twoFactor,
  webhooks,
} from '../src/index.ts';

/** Creates every extension that Belfry ships, with the default settings. */
export const createAllExtensions = () => [
  webhooks(),
  apiKeys(),
  twoFactor(),
  passkeys(),
  softDelete(),
  audit(),
  privacy(),
  invitations(),
  oidc({ providers: {} }),
  realtime(),
  organisations(),
  adminConsole(),
  emailSignIn(),
  emailVerification(),
  securityMails(),
];

/** Creates an app whose tables, without that of the user, are the tables of Belfry's own migrations. It connects to nothing. */
export const createFrameworkApp = () =>
  createApp(
    { resources: [defineUser()], extensions: createAllExtensions() },
    { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' },
  );
