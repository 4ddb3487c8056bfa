import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createApp,
  defineExtension,
  defineJob,
  defineMail,
  defineResource,
  defineUser,
  f,
  type ScheduleDeclaration,
} from '../../src/index.ts';

const environment = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://none',
};

/** The configuration errors of an app with these options. */
function errorsOf(options: object): string[] {
  try {
    createApp({ resources: [defineUser()], ...options }, environment);
  } catch (error) {
    return (error as { errors: string[] }).errors;
  }
  return [];
}

const run = () => undefined;
const tidy = defineJob('tidy', { input: z.strictObject({ days: z.number() }), run });

test('all errors in jobs are reported at once, with job, option and fix', () => {
  const jobs = [
    tidy,
    tidy,
    defineJob('Close Tickets', { run }),
    defineJob('no-run', {} as never),
    defineJob('typo', { run, retrys: {}, retry: { attemps: 3 } } as never),
    defineJob('types', { run, retry: 5 } as never),
    defineJob('numbers', {
      run,
      retry: { attempts: 0, firstDelayMs: -1, maxDelayMs: Number.NaN },
      timeoutMs: 1.5,
      concurrency: 1e9,
    }),
    defineJob('schema', { run, input: { type: 'object' } as never }),
    { run } as never,
    null as never,
  ];
  expect(errorsOf({ jobs })).toEqual([
    'job "tidy": it is declared twice. Rename one',
    'job "Close Tickets": the name must be lower case with hyphens, such as "close-stale-tickets", and have at most 60 characters',
    'job "no-run": run: must be a function',
    'job "typo": "retry.attemps" is not an option. Did you mean "attempts"?',
    'job "typo": "retrys" is not an option. Did you mean "retry"?',
    'job "types": retry: must be an object, not a number',
    'job "numbers": retry.attempts: must be a whole number from 1 to 100',
    'job "numbers": retry.firstDelayMs: must be a whole number from 0 to 86400000',
    'job "numbers": retry.maxDelayMs: must be a whole number from 0 to 86400000',
    'job "numbers": timeoutMs: must be a whole number from 1 to 86400000',
    'job "numbers": concurrency: must be a whole number from 1 to 1000',
    'job "schema": input: must be a schema: zod or another Standard Schema',
    'jobs[8]: must be a job created with defineJob',
    'jobs[9]: must be a job created with defineJob',
  ]);
  expect(errorsOf({ jobs: {} })).toEqual(['jobs: must be a list']);
});

const input = { days: 1 };
const everyNight = '0 2 * * *';
test.each<[object, string]>([
  [
    { cron: '* *', job: tidy, input },
    'schedule "tidy": cron: "* *" must have five fields: minute, hour, day of month, month, day of week',
  ],
  [{ cron: '0 0 30 2 *', job: tidy, input }, 'schedule "tidy": cron: "0 0 30 2 *" never has a tick'],
  [
    { cron: '*/5 * * * * *', job: tidy, input },
    'schedule "tidy": cron: "*/5 * * * * *" has six fields, but a schedule has a tick at most once per minute. Remove the seconds',
  ],
  [
    { cron: '61 * * * *', job: tidy, input },
    'schedule "tidy": cron: "61 * * * *" is malformed: Invalid value for minute: 61',
  ],
  [{ cron: 5, job: tidy, input }, 'schedule "tidy": cron: must be a cron expression, such as "0 2 * * *"'],
  [
    { cron: everyNight, job: tidy, input, timeZone: 'Mars/Olympus' },
    'schedule "tidy": timeZone: "Mars/Olympus" is not a time zone; write UTC or Europe/Berlin',
  ],
  [
    { cron: everyNight, job: defineJob('tidi', { run }) },
    'schedule "tidi": job: "tidi" is not in jobs. Did you mean "tidy"?',
  ],
  [{ cron: everyNight }, 'schedules[0]: job: must be a job created with defineJob'],
  [
    { cron: everyNight, job: tidy, input: { days: 'x' } },
    'schedule "tidy": input.days: Invalid input: expected number, received string',
  ],
  [
    { cron: everyNight, job: tidy, input: 1n },
    'schedule "tidy": input: Must be JSON: no functions, no BigInt, and no object that contains itself',
  ],
  [
    { cron: everyNight, job: tidy, input, catchUp: 'some' },
    "schedule \"tidy\": catchUp: must be 'none', 'latest' or 'all'",
  ],
  [{ cron: everyNight, job: tidy, input, overlap: true }, "schedule \"tidy\": overlap: must be 'skip' or 'allow'"],
  [
    { cron: everyNight, job: tidy, input, timezone: 'UTC' },
    'schedule "tidy": "timezone" is not an option. Did you mean "timeZone"?',
  ],
])('the schedule %o is refused', (schedule, error) => {
  expect(errorsOf({ jobs: [tidy], schedules: [schedule as ScheduleDeclaration] })).toEqual([error]);
});

test('two schedules of a job need names of their own', () => {
  const schedule = { cron: everyNight, job: tidy, input };
  expect(errorsOf({ jobs: [tidy], schedules: [schedule, schedule] })).toEqual([
    'schedule "tidy": another schedule has this name. Set a name of its own',
  ]);
  expect(errorsOf({ jobs: [tidy], schedules: [schedule, { ...schedule, name: 'again' }] })).toEqual([]);
});

test('an extension cannot have an API in place of app.jobs', () => {
  const extension = defineExtension({ name: 'jobs', setup: () => ({ api: {} }) });
  expect(errorsOf({ extensions: [extension] })).toEqual([
    'extension "jobs": its api would replace app.jobs. Rename the extension',
  ]);
});

test('all errors in e-mails of the project are reported at once', () => {
  const texts = { en: () => ({ subject: 'Hello', text: 'Hello' }) };
  const variables = z.strictObject({ title: z.string() });
  const mails = [
    defineMail('hello', { texts }),
    defineMail('hello', { texts }),
    defineMail('password-reset', { texts }),
    defineMail('No', { texts }),
    defineMail('empty', { texts: {} }),
    defineMail('locale', { texts: { german: texts.en, 'not a locale': texts.en, de: 'Hallo' as never } }),
    defineMail('example', { texts, input: variables, example: { titel: 'x' } as never }),
    defineMail('typo', { texts, exampel: 1 } as never),
    defineMail('schema', { texts, input: {} as never }),
    'mail' as never,
  ];
  expect(errorsOf({ mails })).toEqual([
    'mail "hello": it is declared twice. Rename one',
    'mail "password-reset": Belfry has an e-mail with this name. Rename yours, or change its text with the option mailTexts',
    'mail "No": the name must be lower case with hyphens, such as "ticket-closed", and have at most 60 characters',
    'mail "empty": texts: must be an object of functions by locale, such as { en: (about) => ({ subject, text }) }',
    'mail "locale": texts: "not a locale" is not a locale; write en or de-CH',
    'mail "locale": texts: de: must be a function',
    expect.stringMatching(
      /^mail "example": example: must be variables for the preview that the schema accepts: title: /,
    ),
    'mail "typo": "exampel" is not an option. Did you mean "example"?',
    'mail "schema": input: must be a schema: zod or another Standard Schema',
    'mails[9]: must be an e-mail created with defineMail',
  ]);
  expect(errorsOf({ mails: { 'verify-email': {} } })).toEqual([
    'mails: must be a list of e-mails created with defineMail. To replace the texts of built-in e-mails, use mailTexts',
  ]);
});

test('hooks and routes that enqueue a job which is not in jobs are found at the start, by its name or its declaration', () => {
  const makeThumbnail = defineJob('make-thumbnail', { run });
  const listed = defineJob('listed', { run });
  const photo = defineResource('photo', {
    fields: { url: f.url() },
    hooks: {
      beforeCreate: (values) => values,
      afterCreate: (_, { jobs }) => jobs.enqueue(makeThumbnail),
      afterUpdate: async (_, __, { jobs }) => {
        await jobs.enqueue('listedd');
        await jobs.enqueue(listed);
        // jobs.enqueue('not called')
      },
      afterDelete: (_, ctx) => ctx.jobs.enqueue(listed),
    },
    routes: (route) => [route.post('/:id/thumbnail', {}, ({ jobs }) => jobs?.enqueue(makeThumbnail))],
  });
  const resources = [defineUser(), photo];
  const [unlisted, misspelled, inRoute, ...others] = errorsOf({ resources, jobs: [listed] });
  expect(others).toEqual([]);
  expect(unlisted).toContain(
    'resource "photo": hooks.afterCreate enqueues the job "make-thumbnail", which is not in createApp({ jobs })',
  );
  expect(misspelled).toContain(
    'hooks.afterUpdate enqueues the job "listedd", which is not in createApp({ jobs }). Did you mean "listed"?',
  );
  expect(inRoute).toContain('routes enqueues the job "make-thumbnail"');
  const listedd = defineJob('listedd', { run });
  expect(errorsOf({ resources, jobs: [listed, makeThumbnail, listedd] })).toEqual([]);
});
