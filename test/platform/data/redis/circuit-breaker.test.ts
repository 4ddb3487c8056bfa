import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRedisBreaker } from '../../../../src/platform/data/redis/circuit-breaker.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function breakerWith(waitForTrial: boolean) {
  const log = createLogger('silent', 'test');
  const logLines: unknown[] = [];
  vi.spyOn(log, 'warn').mockImplementation((_details: unknown, text?: string) => void logLines.push(text));
  vi.spyOn(log, 'info').mockImplementation((text: unknown) => void logLines.push(text));
  const onRefused = vi.fn();
  const breaker = createRedisBreaker({ log, messages: { opened: 'away', closed: 'back' }, waitForTrial, onRefused });
  return { breaker, logLines, onRefused };
}

const fails = () => Promise.reject(new Error('READONLY'));
const hangs = () => new Promise<string>(() => undefined);

test('after a failure, commands are refused without being sent for one second', async () => {
  const { breaker, logLines, onRefused } = breakerWith(true);
  await expect(breaker.run(fails)).rejects.toThrow('READONLY');
  const command = vi.fn(async () => 'ok');
  await expect(breaker.run(command)).rejects.toThrow(/^Redis is down/);
  expect(command).not.toHaveBeenCalled();
  expect(onRefused).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await breaker.run(command)).toBe('ok');
  expect(await breaker.run(command)).toBe('ok');
  expect(logLines).toEqual(['away', 'back']);
});

test('a command without a timely reply opens the breaker', async () => {
  const { breaker, logLines } = breakerWith(true);
  const late = expect(breaker.run(hangs, 300)).rejects.toThrow('no response within 0.3 s');
  await vi.advanceTimersByTimeAsync(301);
  await late;
  expect(logLines).toEqual(['away']);
});

test('only one trial runs at a time', async () => {
  const { breaker } = breakerWith(true);
  await expect(breaker.run(fails)).rejects.toThrow('READONLY');
  await vi.advanceTimersByTimeAsync(1000);
  const trial = expect(breaker.run(hangs)).rejects.toThrow('no response');
  await expect(breaker.run(hangs)).rejects.toThrow(/^Redis is down/);
  await vi.advanceTimersByTimeAsync(501);
  await trial;
});

test('if callers do not wait for the trial, its own caller is refused too, and the next call passes', async () => {
  const { breaker, logLines } = breakerWith(false);
  await expect(breaker.run(fails)).rejects.toThrow('READONLY');
  await vi.advanceTimersByTimeAsync(1000);
  const command = vi.fn(async () => 'ok');
  await expect(breaker.run(command)).rejects.toThrow(/^Redis is down/);
  expect(command).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(await breaker.run(command)).toBe('ok');
  expect(logLines).toEqual(['away', 'back']);
});
