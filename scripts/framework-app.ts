import {
  apiKeys,
  audit,
  createApp,
  defineUser,
  developerConsole,
  privacy,
  realtime,
  softDelete,
  twoFactor,
  webhooks,
} from '../src/index.ts';

/**
 * Creates an app with every extension that Belfry ships, and no resource but the user. Its tables without those of the user are the
 * tables of Belfry's own migrations.
 *
 * @param environment at least an address of Postgres and Redis, to which only `migrate` and `start` connect
 */
export const createFrameworkApp = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [defineUser()],
      extensions: [
        webhooks(),
        apiKeys(),
        twoFactor(),
        softDelete(),
        audit(),
        privacy(),
        realtime(),
        developerConsole(),
      ],
    },
    environment,
  );
