import { definedJobNames } from '../../declare/job.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import type { CompiledJobs } from './declarations.ts';

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
/** A call of `jobs.enqueue` with the name of a job, or with the variable that holds its declaration. */
const ENQUEUE = /\bjobs\s*(?:\?\.|\.)\s*enqueue\(\s*(?:(['"`])([^'"`]*)\1|([A-Za-z_$][\w$]*))/g;

const camelCase = (name: string) => name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Returns the names of the jobs that the source of a function enqueues and the app does not have. */
function findUndeclaredJobs(code: unknown, jobs: CompiledJobs): string[] {
  if (typeof code !== 'function') return [];
  const undeclared = [...definedJobNames].filter((name) => !jobs.has(name));
  const calls = code.toString().replaceAll(COMMENT, '').matchAll(ENQUEUE);
  return Array.from(calls).flatMap(([, , name, variable]) => {
    if (name !== undefined) return jobs.has(name) ? [] : [name];
    return undeclared.filter((one) => variable === camelCase(one) || variable === `${camelCase(one)}Job`);
  });
}

/**
 * Reports hooks and custom routes of resources that enqueue a job which is not in the option `jobs`. It is read from their source: a call by name,
 * or by a variable with the name of a job that `defineJob` has created. What cannot be read is an error when the job is enqueued.
 */
export function checkEnqueuedJobs(resources: readonly AnyResource[], jobs: CompiledJobs, errors: ConfigErrors): void {
  for (const { name, hooks, routes } of resources) {
    // Handlers of routes usually stand in the function that lists the routes.
    const functions = [
      ...Object.entries(hooks ?? {}).map(([hook, code]) => [`hooks.${hook}`, code]),
      ['routes', routes],
    ];
    for (const [place, code] of functions)
      for (const job of new Set(findUndeclaredJobs(code, jobs)))
        errors
          .at(`resource "${name}"`)
          .report(
            `${place} enqueues the job "${job}", which is not in createApp({ jobs })${suggestKnownNames(job, 'jobs', jobs.keys())}`,
          );
  }
}
