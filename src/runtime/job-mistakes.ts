import { type FeatureParts, type Job, ROLES } from '../declare/extension.ts';

/** What the name of a queue can be made of: BullMQ refuses a colon, and a slash parts extension and job. */
const QUEUE_PART = /^[^:/]+$/;

function isCount(value: unknown): boolean {
  return value === undefined || (Number.isInteger(value) && (value as number) > 0);
}

function faultsOf(job: Partial<Job> | null | undefined): string[] {
  if (typeof job?.run !== 'function') return ['it needs a function run(id)'];
  const { role, concurrency, attempts } = job;
  const faults: string[] = [];
  if (role !== undefined && !ROLES.includes(role))
    faults.push(`role: "${role}" is none that a process plays; roles: ${ROLES.join(', ')}`);
  for (const [name, value] of Object.entries({ concurrency, attempts })) {
    if (!isCount(value)) faults.push(`${name}: must be a whole number from 1`);
  }
  return faults;
}

/**
 * The mistakes in the jobs of an extension, a line each: what no queue takes, and what no process would ever do.
 *
 * @param extension its name
 */
export function jobMistakes(extension: string, jobs: FeatureParts['jobs'] = {}): string[] {
  const names = Object.keys(jobs);
  const mistakes = names.flatMap((name) => {
    const named = QUEUE_PART.test(name)
      ? []
      : ['its name is part of that of a queue, which has no : and no /; rename it'];
    return [...named, ...faultsOf(jobs[name])].map((text) => `job "${name}": ${text}`);
  });
  if (names.length > 0 && !QUEUE_PART.test(extension))
    mistakes.unshift('its name is part of those of its queues, which have no : and no /; rename it');
  return mistakes.map((text) => `extension "${extension}": ${text}`);
}
