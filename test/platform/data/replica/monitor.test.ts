// When a replica counts as usable, with servers that respond as each test says.
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Queryable } from '../../../../src/platform/data/postgres/queryable.ts';
import { ReplicaMonitor } from '../../../../src/platform/data/replica/monitor.ts';
import { createReplicaProgress } from '../../../../src/platform/data/replica/progress.ts';
import type { Logger } from '../../../../src/platform/observability/log.ts';

const MAX_LAG_MS = 5000;
const never = () => new Promise<never>(() => undefined);
const connectionError = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
  });
  return () => vi.useRealTimers();
});

/** Starts a monitor of two servers that are at the same position of the log. */
async function startMonitor() {
  let position = 1000;
  const servers = {
    async primary(): Promise<unknown[]> {
      position += 100;
      return [performance.now(), position, '00000001', 8192, 2 ** 24];
    },
    replica: async (): Promise<unknown[]> => [true, position, '00000001'],
  };
  const read = (server: keyof typeof servers) =>
    (async ({ text }: { text: string }) =>
      text.includes('current_database') ? [['app', '1']] : [await servers[server]()]) as Queryable['read'];
  const warnings: string[] = [];
  const warn = (_fields: object, text: string) => warnings.push(text);
  const log = { warn, info() {}, error() {} } as unknown as Logger;
  const abandonStatements = vi.fn();
  const monitor = new ReplicaMonitor(
    { primary: { read: read('primary') }, replica: { read: read('replica') }, address: 'replica', abandonStatements },
    createReplicaProgress(),
    MAX_LAG_MS,
    log,
  );
  onTestFinished(() => monitor.stop());
  await monitor.start();
  await vi.advanceTimersByTimeAsync(2000);
  expect(monitor.unusableReason()).toBeUndefined();
  return { monitor, servers, warnings, abandonStatements };
}

test('a replica that stands still while the primary continues lags', async () => {
  const { monitor, servers } = await startMonitor();
  servers.replica = async () => [true, 0, '00000001'];
  await vi.advanceTimersByTimeAsync(MAX_LAG_MS - 1500);
  expect(monitor.unusableReason()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(4000);
  expect(monitor.unusableReason()).toBe('lag');
});

test('a primary that does not respond to checks is no lag: the replica is used for a while, and again afterwards', async () => {
  const { monitor, servers, warnings } = await startMonitor();
  const respond = servers.primary;
  servers.primary = () => Promise.reject(connectionError());
  await vi.advanceTimersByTimeAsync(MAX_LAG_MS + 5000);
  expect(monitor.unusableReason()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(monitor.unusableReason()).toBe('unknown_lag');
  expect(warnings).toEqual([expect.stringContaining('the lag of the replica is unknown')]);
  servers.primary = respond;
  await vi.advanceTimersByTimeAsync(3000);
  expect(monitor.unusableReason()).toBeUndefined();
});

test('while checks of the primary hang, those of the replica continue, and find that it is down', async () => {
  const { monitor, servers, abandonStatements } = await startMonitor();
  servers.primary = never;
  await vi.advanceTimersByTimeAsync(2000);
  servers.replica = never;
  await vi.advanceTimersByTimeAsync(4000);
  expect(monitor.unusableReason()).toBe('unavailable');
  expect(abandonStatements).toHaveBeenCalled();
});

test('one lost connection does not make a replica unavailable, but a failed check does at once', async () => {
  const { monitor, servers, abandonStatements } = await startMonitor();
  const respond = servers.replica;
  servers.replica = () => {
    servers.replica = respond;
    return Promise.reject(connectionError());
  };
  monitor.checkSoon();
  await vi.advanceTimersByTimeAsync(0);
  expect(servers.replica).toBe(respond);
  expect([monitor.unusableReason(), abandonStatements.mock.calls.length]).toEqual([undefined, 0]);
  servers.replica = () => Promise.reject(connectionError());
  monitor.checkSoon();
  await vi.advanceTimersByTimeAsync(0);
  expect([monitor.unusableReason(), abandonStatements.mock.calls.length]).toEqual(['unavailable', 1]);
});

test('a role that may not read the timeline of the replica causes one warning', async () => {
  const { servers, monitor, warnings } = await startMonitor();
  servers.replica = async () => [true, 10_000, null];
  await vi.advanceTimersByTimeAsync(3000);
  expect(monitor.unusableReason()).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining('grant execute on function pg_control_checkpoint()')]);
});
