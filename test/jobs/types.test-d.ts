// Checked only by the compiler (`npm run check`): every line after @ts-expect-error must be an error.
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type App, defineJob, defineMail, type Jobs, type Senders } from '../../src/index.ts';

declare const jobs: Jobs;
declare const mail: Senders['mail'];
declare const app: App;

const typed = defineJob('typed', {
  input: z.strictObject({ at: z.coerce.date<string>(), days: z.number().default(30) }),
  run({ input, attempt, signal, user }) {
    expectTypeOf(input).toEqualTypeOf<{ at: Date; days: number }>();
    expectTypeOf(attempt).toBeNumber();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(user?.id).toEqualTypeOf<string | undefined>();
  },
});
const plain = defineJob('plain', { run: () => 1 });
const optional = defineJob('optional', { input: z.number().optional(), run: () => undefined });

test('the schema decides the type of the input of enqueue and of the run', () => {
  expectTypeOf(jobs.enqueue(typed, { at: '2030-01-01' })).resolves.toEqualTypeOf<{ id: string; created: boolean }>();
  jobs.enqueue(typed, { at: '2030-01-01', days: 1 }, { runAt: new Date(), uniqueKey: 'x' });
  // @ts-expect-error the input is missing
  jobs.enqueue(typed);
  // @ts-expect-error the type of a field is wrong
  jobs.enqueue(typed, { at: 5 });
  // @ts-expect-error there is no such option
  jobs.enqueue(typed, { at: '2030-01-01' }, { delay: 5 });
});

test('a job without input, or with optional input, needs none', () => {
  jobs.enqueue(plain);
  jobs.enqueue(plain, undefined, { runAt: 5 });
  jobs.enqueue(optional);
  jobs.enqueue(optional, 5);
  // @ts-expect-error the job has no input
  jobs.enqueue(plain, { x: 1 });
});

test('a job can be enqueued by name, without types', () => {
  jobs.enqueue('typed', { at: '2030-01-01' });
  app.jobs.enqueue('typed', 5, { uniqueKey: 'x' });
});

const closed = defineMail('closed', {
  input: z.strictObject({ title: z.string() }),
  texts: { en: ({ title }) => ({ subject: title.toUpperCase(), text: title }) },
  example: { title: 'Hello' },
});

test('an e-mail of the project needs a recipient and its variables', () => {
  mail.send(closed, { to: 'ada@example.com', title: 'x' });
  mail.send(closed, { user: 'id', locale: 'de', title: 'x' });
  app.mail.send(closed, { user: { id: 'id' }, title: 'x' });
  mail.send({ to: 'ada@example.com', subject: 'x', text: 'x' });
  // @ts-expect-error a variable is missing
  mail.send(closed, { to: 'ada@example.com' });
  // @ts-expect-error the recipient is missing
  mail.send(closed, { title: 'x' });
});
