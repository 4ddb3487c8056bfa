import { afterAll } from 'vitest';
import { startTestApp } from '../../../support/app.ts';
import { planTestDatabase } from '../../../support/database/test-database.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { declarations, PRODUCTION } from './operations-app.ts';

/** Starts an app in production that reaches Postgres and Redis through proxies, with an administrator and a note. */
export async function startAppBehindProxies() {
  const servers = planTestDatabase();
  const [postgres, redis] = [
    await startTcpProxy(new URL(servers.databaseUrl)),
    await startTcpProxy(new URL(servers.redisUrl)),
  ];
  afterAll(() => {
    postgres.close();
    redis.close();
  });
  const started = await startTestApp(declarations, {
    env(services) {
      const address = new URL(postgres.url);
      address.pathname = new URL(services.DATABASE_URL).pathname;
      return { ...PRODUCTION, DATABASE_URL: address.href, REDIS_URL: redis.url };
    },
  });
  const admin = await started.person('Root', ['user', 'admin']);
  const { id: noteId } = await started.app.service('note').create({ title: 'Stored' });
  return { ...started, admin, noteId, postgres, redis };
}
