import type { PolicyArguments } from '../declare/policy.ts';
import { ApiError } from '../platform/errors.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { Logger } from '../platform/log.ts';
import { isTransient } from '../platform/postgres/errors.ts';
import { InputError } from './input-error.ts';

/** A function of a declaration: `policies.read`, `scope`, or with `field` its `visibleTo`. */
export interface Rule {
  resource: string | undefined;
  rule: string;
  field?: string;
  /** The id of the record that the function was asked about. */
  record?: string;
}

/** Logs the error of a rule. What the rule was to decide on stays hidden. */
export type ReportRuleError = (error: unknown, rule: Rule, req: PolicyArguments['req']) => void;

/** A resource, as far as its rules need it. */
interface Ruled {
  name: string;
  reportRuleError: ReportRuleError;
}

/** Decides what becomes of the error of a rule: throws an error of the request, or returns, and the rule allows nothing. */
type OnRuleError = (error: unknown) => void;

// A rule is asked for each record and each viewer: one that always throws must not fill the log.
const QUIET_MS = 1000;

/** Makes what logs the errors of an app's rules: of each rule at most one a second, with the number of those left out. */
export function createRuleErrorLog(log: Logger): ReportRuleError {
  const reported = new Map<string, { until: number; leftOut: number }>();
  return (error, { record, ...rule }, req) => {
    const key = JSON.stringify(rule);
    const before = reported.get(key);
    const now = Date.now();
    if (before !== undefined && now < before.until) {
      before.leftOut++;
      return;
    }
    reported.set(key, { until: now + QUIET_MS, leftOut: 0 });
    const requestId = req && requestIdOf(req);
    log.error(
      { err: error, ...rule, record, requestId, leftOut: before?.leftOut },
      'a rule of the project threw: what it decides on stays hidden',
    );
  };
}

/** The project's own code made a call that no client can mend. Names the rule or hook, for the log. */
class ProjectError extends Error {
  override readonly name = 'ProjectError';
  readonly resource: string;
  readonly rule: string;

  constructor(resource: string, rule: string, cause: InputError) {
    const details = Object.entries(cause.details ?? {}).map(([field, message]) => `${field}: ${message}`);
    const what = [cause.message, ...details].join('; ');
    super(`${rule} of "${resource}" called a service with input that it refuses: ${what}`, { cause });
    this.resource = resource;
    this.rule = rule;
  }
}

/**
 * The error of a rule or hook as its caller gets it. Input that a service refused inside of it is no input of the client: it is a
 * fault of the project (500). What the project threw itself, an ApiError too, stays as it is.
 */
function errorOfRule(error: unknown, resource: string, rule: string): unknown {
  return error instanceof InputError ? new ProjectError(resource, rule, error) : error;
}

/** Runs a rule or hook, and throws what it throws as `errorOfRule` has it. */
export async function inRule<T>(resource: string, rule: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw errorOfRule(error, resource, rule);
  }
}

/** A rule that says what of an answer is visible: it hides that when it throws, and the rest is shown. */
export function hideOnError(report: ReportRuleError, rule: Rule, req: PolicyArguments['req']): OnRuleError {
  return (error) => {
    // Nothing is known then: the caller must ask again, and not take it for an answer.
    if (isTransient(error)) throw error;
    report(error, rule, req);
  };
}

/** A rule that decides over a request: an ApiError of the project is the answer; any other error refuses. */
export function refuseOnError(report: ReportRuleError, rule: Rule, req: PolicyArguments['req']): OnRuleError {
  const hide = hideOnError(report, rule, req);
  return (error) => {
    if (error instanceof ApiError && !(error instanceof InputError)) throw error;
    hide(error);
  };
}

/** The policy of an action on a resource, as a rule that decides over a request. */
export function actionRule(
  { name, reportRuleError }: Ruled,
  action: string,
  { doc, req }: Pick<PolicyArguments, 'doc' | 'req'>,
): OnRuleError {
  return refuseOnError(reportRuleError, { resource: name, rule: `policies.${action}`, record: doc?.id }, req);
}

/** The policy of an action on a resource, as a rule that says what is visible. */
export function visibilityRule(
  { name, reportRuleError }: Ruled,
  action: string,
  { doc, req }: Pick<PolicyArguments, 'doc' | 'req'>,
): OnRuleError {
  return hideOnError(reportRuleError, { resource: name, rule: `policies.${action}`, record: doc?.id }, req);
}

/** A scope filter that threw: when it decides over a request, an error of the request; else nothing is in the scope. */
export function scopeRule(
  { name, reportRuleError }: Ruled,
  req: PolicyArguments['req'],
  decides: 'request' | 'visibility',
): OnRuleError {
  const rule = { resource: name, rule: 'scope' };
  if (decides === 'visibility') return hideOnError(reportRuleError, rule, req);
  const refuse = refuseOnError(reportRuleError, rule, req);
  return (error) => {
    if (error instanceof InputError) throw errorOfRule(error, name, 'scope');
    refuse(error);
  };
}
