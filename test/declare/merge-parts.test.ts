import { expect, test } from 'vitest';
import type { FeatureParts } from '../../src/declare/extension.ts';
import { mergeParts } from '../../src/declare/merge-parts.ts';
import { ConfigErrors } from '../../src/platform/helpers/config-errors.ts';

const job = { run: async () => undefined };
const sweep = { name: 's', everyMs: 1, run: async () => undefined };

test('the merged parts contain every part that a feature provides', () => {
  const hello = async () => undefined;
  const merged = mergeParts(
    { jobs: { a: job }, sweeps: [sweep] },
    { jobs: { b: job }, sweeps: [sweep], mails: { hello } },
  );
  expect(merged).toEqual({ jobs: { a: job, b: job }, sweeps: [sweep, sweep], mails: { hello } });
});

test('parts that only one feature provides stay unchanged', () => {
  const api = new (class {
    hello() {}
  })();
  expect(mergeParts({ api }, { sweeps: [] }).api).toBe(api);
});

test('two jobs, e-mails or API members with the same name are refused', () => {
  expect(() => mergeParts({ jobs: { a: job } }, { jobs: { a: job } })).toThrow('have the same name: a, a');
  expect(() => mergeParts({ api: { a: 1 } }, { api: { a: 2 } })).toThrow('have the same name: a, a');
});

test('the configuration errors of every feature are reported', () => {
  const errors = new ConfigErrors();
  const reporting = (text: string): FeatureParts => ({ checkConfig: (all) => all.report(text) });
  mergeParts(reporting('one'), reporting('two')).checkConfig!(errors);
  expect(errors.lines).toEqual(['one', 'two']);
});

test('steps run one after another, and a failing step stops the rest', async () => {
  const ran: string[] = [];
  const step = (name: string): FeatureParts => ({
    async confirmStep() {
      ran.push(name);
      if (name === 'two') throw new Error('refused');
    },
  });
  const { confirmStep } = mergeParts(step('one'), step('two'), step('three'));
  await expect(confirmStep!({} as never, undefined, 'code')).rejects.toThrow('refused');
  expect(ran).toEqual(['one', 'two']);
});

test('all listeners of an event are called, and every error they throw is reported', async () => {
  const heard: string[] = [];
  const listening = (name: string): FeatureParts => ({
    listeners: {
      happened() {
        heard.push(name);
        throw new Error(name);
      },
    },
  });
  const { happened } = mergeParts(listening('one'), listening('two')).listeners!;
  await expect(happened!(undefined as never)).rejects.toMatchObject({ errors: [new Error('one'), new Error('two')] });
  expect(heard).toEqual(['one', 'two']);
});

test('workers of one role start in order and stop in reverse order, and a failed start stops the running ones', async () => {
  const ran: string[] = [];
  const working = (name: string): FeatureParts => ({
    workers: {
      relay() {
        if (name === 'bad') throw new Error('no start');
        ran.push(`start ${name}`);
        return { stop: async () => void ran.push(`stop ${name}`) };
      },
    },
  });
  const started = await mergeParts(working('one'), working('two')).workers!.relay!();
  await started.stop();
  expect(ran.splice(0)).toEqual(['start one', 'start two', 'stop two', 'stop one']);
  await expect(mergeParts(working('one'), working('bad')).workers!.relay!()).rejects.toThrow('no start');
  expect(ran).toEqual(['start one', 'stop one']);
});
