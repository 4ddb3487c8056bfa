import { setTimeout as sleep } from 'node:timers/promises';
import { CHECK_EVERY_MS, provideHaproxy, type RunningProxy, startHaproxy } from '../../../scripts/services/haproxy.ts';
import type { Bench, Group } from '../../figure.ts';
import { type LoadRequest, openLoad } from '../../measure/load.ts';
import { removeEndpoints } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { createBelfryEnvironment } from '../../setup/environment.ts';
import { createArticleJson, getArticleId, getSessionToken, USERS } from '../../setup/seed.ts';

const CONNECTIONS = 20;
/** ms of load before, between and after the restarts. */
const STEADY_MS = 1500;

/** Creates the requests of the load: one create for three reads. */
function createRequest(n: number): LoadRequest {
  const token = getSessionToken(n % USERS);
  if (n % 4 !== 0) return { method: 'GET', path: `/api/articles/${getArticleId(n % 1000)}`, token, status: 200 };
  return { method: 'POST', path: '/api/articles', token, body: createArticleJson(n), status: 201 };
}

/** Starts a `web` process on the port of a server of the proxy, and waits until it gets requests. */
async function startWeb(bench: Bench, proxy: RunningProxy, server: number, up: readonly number[]): Promise<Child> {
  const web = await bench.children.start(new URL('../../processes/restartable.ts', import.meta.url), {
    ...createBelfryEnvironment(bench.servers, 'web'),
    ...{
      PORT: String(proxy.ports[server]),
      RELAY: 'off',
      WEBHOOKS_WORKER: 'off',
      PUSH_WORKER: 'off',
      JOB_WORKER: 'off',
    },
    DRAIN_DELAY_MS: String(5 * CHECK_EVERY_MS),
  });
  await proxy.waitUntilUp(up);
  return web;
}

/** Replaces two `web` processes one after the other while clients send requests. */
async function measureRollingRestart(bench: Bench, proxy: RunningProxy) {
  const old = [await startWeb(bench, proxy, 0, [0]), await startWeb(bench, proxy, 1, [0, 1])];
  const load = openLoad(proxy.url, createRequest, CONNECTIONS);
  await sleep(STEADY_MS);
  const stopTimes: number[] = [];
  const replacements: Child[] = [];
  for (const [i, web] of old.entries()) {
    replacements.push(await startWeb(bench, proxy, i + 2, i === 0 ? [0, 1, 2] : [1, 2, 3]));
    const begin = performance.now();
    await web.terminate();
    stopTimes.push(performance.now() - begin);
    await sleep(STEADY_MS);
  }
  const { requests, errors } = await load.stop();
  await Promise.all(replacements.map((web) => web.terminate()));
  return { requests, errors, slowestStopMs: Math.max(...stopTimes) };
}

/** Measures a rolling restart of two `web` processes behind a proxy that never retries a request. */
export const restart: Group = {
  name: 'hosting',
  async run(bench) {
    if (!bench.isRequested('hosting.restart.failed') && !bench.isRequested('hosting.restart.ms')) return [];
    const haproxy = provideHaproxy();
    if (haproxy === undefined) {
      bench.logProgress('hosting.restart is skipped: HAProxy is not installed');
      return [];
    }
    bench.logProgress('hosting.restart …');
    const proxy = await startHaproxy(haproxy, 4);
    try {
      const { requests, errors, slowestStopMs } = await measureRollingRestart(bench, proxy);
      const note = `of ${requests} requests${errors.length > 0 ? `; the first: ${errors[0]}` : ''}`;
      return [
        { name: 'hosting.restart.failed', value: errors.length, unit: 'requests', note },
        {
          name: 'hosting.restart.ms',
          value: slowestStopMs,
          unit: 'ms',
          note: `from SIGTERM to the end of the process, with a drain delay of ${5 * CHECK_EVERY_MS} ms`,
        },
      ];
    } finally {
      await proxy.stop();
      await removeEndpoints(bench);
    }
  },
};
