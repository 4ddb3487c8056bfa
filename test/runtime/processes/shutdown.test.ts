import { expect, test } from 'vitest';
import { createShutdown } from '../../../src/runtime/shutdown.ts';

test('a part that starts while the process stops is stopped, too, before the stop ends', async () => {
  const shutdown = createShutdown();
  const stopped: string[] = [];
  const stop = (name: string) => async () => void stopped.push(name);
  const starting = Promise.withResolvers<void>();
  shutdown.addWork(() => starting.promise);
  const stopping = shutdown.stopAll();
  shutdown.addWork(stop('worker'));
  shutdown.addSupport(stop('health checks'));
  shutdown.addWork(async () => {
    throw new Error('cannot stop');
  });
  starting.resolve();
  await expect(stopping).rejects.toThrow('cannot stop');
  expect(stopped).toEqual(['worker', 'health checks']);
  shutdown.addWork(stop('relay'));
  expect(stopped).toContain('relay');
});
