import { expect, test, vi } from 'vitest';
import type { Logger } from '../../../src/platform/observability/log.ts';
import { createWorkLogger } from '../../../src/platform/observability/log-work.ts';
import { createMetrics } from '../../../src/platform/observability/metrics.ts';

const line = { outcome: 'sent', durationMs: 12, mail: 'm1' };

function workLog(sampleRate: number, ...random: number[]) {
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const parts = { log: log as unknown as Logger, settings: { log: { sampleRate } }, metrics: createMetrics() };
  return { ...log, logWork: createWorkLogger(parts, () => random.shift()!) };
}

test('a unit of work is one log line with its name as the message', () => {
  const { logWork, info } = workLog(1);
  logWork('mail', line);
  expect(info.mock.calls).toEqual([[line, 'mail']]);
});

test('with a sample rate of 1 every sampled unit is logged unchanged', () => {
  const { logWork, info } = workLog(1);
  for (let i = 0; i < 3; i++) logWork('push chunk', line, { sampled: true });
  expect(info.mock.calls).toEqual([
    [line, 'push chunk'],
    [line, 'push chunk'],
    [line, 'push chunk'],
  ]);
});

test('a sampled unit is logged with the probability of the sample rate, and its line carries the rate', () => {
  const { logWork, info } = workLog(0.25, 0.249, 0.25, 0.9);
  for (let i = 0; i < 3; i++) logWork('push chunk', line, { sampled: true });
  expect(info.mock.calls).toEqual([[{ ...line, sampleRate: 0.25 }, 'push chunk']]);
});

test('a sample rate of 0 logs no sampled unit', () => {
  const { logWork, info } = workLog(0, 0);
  logWork('push chunk', line, { sampled: true });
  expect(info).not.toHaveBeenCalled();
});

test('a unit that is not sampled, such as a failure, is always logged at its own level', () => {
  const { logWork, info, error } = workLog(0);
  logWork('push chunk', { ...line, outcome: 'failed' }, { level: 'error' });
  expect(info).not.toHaveBeenCalled();
  expect(error.mock.calls).toEqual([[{ ...line, outcome: 'failed' }, 'push chunk']]);
});
