import type { PolicyArguments } from '../../declare/policy.ts';
import { isTransient } from '../../platform/data/postgres/errors.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { getRequestId } from '../../platform/http/request-context.ts';
import type { Logger } from '../../platform/observability/log.ts';

/** The validation errors of a write's input or of a query. */
export class InputError extends ApiError {
  /**
   * Whether the system supplied the input. If so, no client can fix the error, so clients do not receive it. Set by the service that was
   * called.
   */
  bySystem: boolean | undefined;
}

/** A function of a declaration: `policies.read`, `scope`, or the `visibleTo` of `field`. */
interface Rule {
  resource: string | undefined;
  rule: string;
  field?: string;
  /** The id of the record that the function was called for. */
  record?: string;
}

/** Logs the error of a rule. The record or field that the rule decides on stays hidden. */
export type ReportRuleError = (error: unknown, rule: Rule, req: PolicyArguments['req']) => void;

/** The part of a resource that its rules need. */
interface RuleOwner {
  name: string;
  reportRuleError: ReportRuleError;
}

/** Handles the error of a rule: throws an error that ends the request, or returns, and then the rule allows nothing. */
type OnRuleError = (error: unknown) => void;

// Rules run for each record and each viewer, so a rule that always throws could fill the log.
const MIN_LOG_INTERVAL_MS = 1000;

/** Creates the log of rule errors: at most one error per second for each rule, with the number of suppressed errors. */
export function createRuleErrorReporter(log: Logger): ReportRuleError {
  const reported = new Map<string, { until: number; leftOut: number }>();
  return (error, { record, ...rule }, req) => {
    const key = JSON.stringify(rule);
    const before = reported.get(key);
    const now = Date.now();
    if (before !== undefined && now < before.until) {
      before.leftOut++;
      return;
    }
    reported.set(key, { until: now + MIN_LOG_INTERVAL_MS, leftOut: 0 });
    const requestId = req && getRequestId(req);
    log.error(
      { err: error, ...rule, record, requestId, leftOut: before?.leftOut },
      'a rule in your project threw an error; the record or field that it controls stays hidden',
    );
  };
}

/** An error in the project's code: a service call that fails whatever the client sends. Names the rule or hook, for the log. */
class ProjectError extends Error {
  override readonly name = 'ProjectError';
  readonly resource: string;
  readonly rule: string;

  constructor(resource: string, rule: string, cause: InputError) {
    const details = Object.entries(cause.details ?? {}).map(([field, message]) => `${field}: ${message}`);
    const what = [cause.message, ...details].join('; ');
    super(`${rule} of "${resource}" called a service with invalid input: ${what}`, { cause });
    this.resource = resource;
    this.rule = rule;
  }
}

/**
 * The error of a rule or hook, for its caller. If a service refused its input, the project is at fault (500), because the client did not
 * send that input. Errors that the project itself threw, including ApiErrors, stay unchanged.
 */
function toRuleError(error: unknown, resource: string, rule: string): unknown {
  return error instanceof InputError ? new ProjectError(resource, rule, error) : error;
}

/**
 * Runs a rule or hook. If the rule or hook called a service with invalid input, throws an error of the project (500) instead of the client
 * error.
 */
export async function runProjectCode<T>(resource: string, rule: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toRuleError(error, resource, rule);
  }
}

/** Creates the error handler of a rule that decides what is visible: the error is logged, and the record or field of the rule is hidden. */
export function createHidingErrorHandler(
  report: ReportRuleError,
  rule: Rule,
  req: PolicyArguments['req'],
): OnRuleError {
  return (error) => {
    // A transient error, such as a lost connection, decides nothing. Throw it: the caller retries.
    if (isTransient(error)) throw error;
    report(error, rule, req);
  };
}

/**
 * Creates the error handler of a rule that decides about a request: an ApiError of the project becomes the response; any other error is
 * logged and refuses the request.
 */
export function createRefusingErrorHandler(
  report: ReportRuleError,
  rule: Rule,
  req: PolicyArguments['req'],
): OnRuleError {
  const hide = createHidingErrorHandler(report, rule, req);
  return (error) => {
    if (error instanceof ApiError && !(error instanceof InputError)) throw error;
    hide(error);
  };
}

/** Creates the error handler of the policy of an action that a request performs: errors refuse the request. */
export function createActionErrorHandler(
  { name, reportRuleError }: RuleOwner,
  action: string,
  { doc, req }: Pick<PolicyArguments, 'doc' | 'req'>,
): OnRuleError {
  return createRefusingErrorHandler(
    reportRuleError,
    { resource: name, rule: `policies.${action}`, record: doc?.id },
    req,
  );
}

/**
 * Creates the error handler of the `read` or `reference` policy, which decides whether a record appears in an event or in another record.
 * Transient errors are thrown again; any other error is logged and hides the record.
 */
export function createVisibilityErrorHandler(
  { name, reportRuleError }: RuleOwner,
  policy: 'read' | 'reference',
  { doc, req }: Pick<PolicyArguments, 'doc' | 'req'>,
): OnRuleError {
  return createHidingErrorHandler(
    reportRuleError,
    { resource: name, rule: `policies.${policy}`, record: doc?.id },
    req,
  );
}

/**
 * Creates the error handler of a scope filter. If the filter throws, no record is in the scope; with `request`, its ApiError becomes the
 * response.
 */
export function createScopeErrorHandler(
  { name, reportRuleError }: RuleOwner,
  req: PolicyArguments['req'],
  decides: 'request' | 'visibility',
): OnRuleError {
  const rule = { resource: name, rule: 'scope' };
  if (decides === 'visibility') return createHidingErrorHandler(reportRuleError, rule, req);
  const refuse = createRefusingErrorHandler(reportRuleError, rule, req);
  return (error) => {
    if (error instanceof InputError) throw toRuleError(error, name, 'scope');
    refuse(error);
  };
}
