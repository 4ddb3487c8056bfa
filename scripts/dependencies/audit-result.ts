// Decides what an answer of `npm audit --json` means for CI.
import * as z from 'zod';

const REFUSED_SEVERITIES = ['high', 'critical'];

const acceptedAdvisories = z.array(
  z.strictObject({
    id: z.string().regex(/^GHSA(-[0-9a-z]{4}){3}$/, 'must be a GHSA id, such as GHSA-abcd-1234-efgh'),
    package: z.string().min(1),
    reason: z.string().min(1, 'must say why the advisory does not affect Belfry'),
    expires: z.iso.date('must be the last day on which the advisory is accepted, such as 2027-01-31'),
  }),
);

/** Advisories that do not fail the audit until they expire: see accepted-advisories.json. */
export type AcceptedAdvisories = z.output<typeof acceptedAdvisories>;

/** The parts of npm's report that count. `via` has advisories of the package itself, and names of packages that it depends on. */
const report = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    z.object({
      via: z.array(
        z.union([
          z.string(),
          z.object({ name: z.string(), title: z.string(), url: z.string(), severity: z.string(), range: z.string() }),
        ]),
      ),
    }),
  ),
});

/** npm prints `message` if the registry did not answer the question, and only `error` if it could not ask. */
const registryFailure = z.object({ message: z.string() });
const ownFailure = z.object({ error: z.object({ code: z.string(), summary: z.string() }) });

interface Advisory {
  id: string;
  package: string;
  severity: string;
  title: string;
  range: string;
}

/** `skipped` means that nothing is known: it neither fails nor counts as passed. */
export interface AuditResult {
  outcome: 'passed' | 'failed' | 'skipped';
  /** What to print, starting with the outcome. */
  lines: string[];
}

/**
 * Parses the text of accepted-advisories.json.
 *
 * @throws Error that names each malformed entry
 */
export function parseAcceptedAdvisories(text: string): AcceptedAdvisories {
  const parsed = acceptedAdvisories.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
  throw new Error(`accepted-advisories.json is malformed:\n${errors.join('\n')}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function listAdvisories({ vulnerabilities }: z.output<typeof report>): Advisory[] {
  const advisories = Object.values(vulnerabilities).flatMap(({ via }) =>
    via.flatMap((cause) => {
      if (typeof cause === 'string') return [];
      const { name, title, url, severity, range } = cause;
      return { id: url.slice(url.lastIndexOf('/') + 1), package: name, severity, title, range };
    }),
  );
  return [...new Map(advisories.map((advisory) => [`${advisory.id} ${advisory.package}`, advisory])).values()];
}

function skip(reason: string): AuditResult {
  return { outcome: 'skipped', lines: [`SKIPPED: ${reason}. Known vulnerabilities of dependencies were not checked.`] };
}

function count(advisories: readonly unknown[], kind: string): string {
  return `${advisories.length} ${kind}${advisories.length === 1 ? 'advisory' : 'advisories'}`;
}

function judgeAdvisories(advisories: readonly Advisory[], accepted: AcceptedAdvisories, today: string): AuditResult {
  const findAccepted = ({ id, package: name }: Advisory) =>
    accepted.find((entry) => entry.id === id && entry.package === name);
  const severe = advisories.filter(({ severity }) => REFUSED_SEVERITIES.includes(severity));
  const refused = severe.filter((advisory) => !((findAccepted(advisory)?.expires ?? '') >= today));
  const unused = accepted.filter((entry) => !advisories.some((advisory) => findAccepted(advisory) === entry));
  const notes = unused.map(
    ({ id, package: name }) => `No longer reported, so remove it from the list: ${id} of ${name}`,
  );
  if (refused.length === 0) {
    const others = advisories.length - severe.length;
    const acceptedNote = severe.length > 0 ? `; ${count(severe, 'accepted ')}` : '';
    const line = `PASSED: no dependency has an unaccepted high or critical advisory${acceptedNote}; ${others} of low or moderate severity`;
    return { outcome: 'passed', lines: [line, ...notes] };
  }
  const described = refused.map((advisory) => {
    const expired = findAccepted(advisory)?.expires;
    const { severity, package: name, range, id, title } = advisory;
    return `  ${severity}: ${name} ${range}: ${title} (${id})${expired === undefined ? '' : `; accepted until ${expired} only`}`;
  });
  return {
    outcome: 'failed',
    lines: [
      `FAILED: ${count(refused, 'high or critical ')} in production dependencies`,
      ...described,
      'Update the package. If Belfry is not affected, add the advisory to scripts/dependencies/accepted-advisories.json.',
      ...notes,
    ],
  };
}

/**
 * Decides what an answer of `npm audit --json` means.
 *
 * @param output what npm printed to standard output; undefined if it did not answer in time
 * @param today as `2027-01-31`, in UTC
 */
export function judgeAudit(output: string | undefined, accepted: AcceptedAdvisories, today: string): AuditResult {
  if (output === undefined) return skip('the registry did not answer in time');
  const answer = parseJson(output);
  const unreachable = registryFailure.safeParse(answer);
  // The message contains the address of the registry, which does not belong in a public log.
  if (unreachable.success)
    return skip(
      `the registry does not answer audits (${unreachable.data.message.replaceAll(/https?:\/\/\S+/g, 'its address')})`,
    );
  const failed = ownFailure.safeParse(answer);
  if (failed.success)
    return {
      outcome: 'failed',
      lines: [`FAILED: npm audit ended with ${failed.data.error.code}: ${failed.data.error.summary}`],
    };
  const parsed = report.safeParse(answer);
  if (parsed.success) return judgeAdvisories(listAdvisories(parsed.data), accepted, today);
  if (answer !== null && typeof answer === 'object' && 'auditReportVersion' in answer)
    return { outcome: 'failed', lines: ['FAILED: npm printed a report in a format that this check does not know'] };
  return skip('npm did not print a report');
}
