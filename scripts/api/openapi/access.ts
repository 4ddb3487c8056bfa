import { isDeepStrictEqual } from 'node:util';
import type { Reporter } from '../change.ts';
import { asList, asObject, type Json } from './json.ts';

/** One way to sign in: the scopes by security scheme, all of which are needed. */
type Alternative = Record<string, readonly string[]>;

/** The ways to sign in of which an operation requires one; one that needs nothing makes the operation public. */
function alternativesOf(operation: Json, document: Json): Alternative[] {
  const listed = asList(operation.security ?? document.security).map(asObject) as Alternative[];
  return listed.length === 0 ? [{}] : listed;
}

/** Whether credentials that meet one alternative also meet another one. */
function meets(given: Alternative, needed: Alternative): boolean {
  return Object.entries(needed).every(
    ([scheme, scopes]) => given[scheme] !== undefined && scopes.every((scope) => given[scheme]!.includes(scope)),
  );
}

function describe(alternative: Alternative): string {
  const schemes = Object.entries(alternative);
  const texts = schemes.map(([scheme, scopes]) => (scopes.length === 0 ? scheme : `${scheme} (${scopes.join(', ')})`));
  return texts.length === 0 ? 'nothing' : texts.join(' and ');
}

const describeAll = (alternatives: readonly Alternative[]) => alternatives.map(describe).join(' or ');

/** The alternatives of a policy: `owner | admin` allows owners and admins. */
function policyTerms(policy: unknown): string[] {
  const terms = String(policy).split('|');
  return terms.map((term) => term.trim());
}

/** Whether a policy certainly allows every caller that another policy allows. */
function allowsAll(terms: readonly string[], of: readonly string[]): boolean {
  if (terms.includes('public')) return true;
  const coversSignedIn = ['authenticated', 'auth', 'user'].some((term) => terms.includes(term));
  return of.every((term) => terms.includes(term) || (coversSignedIn && term !== 'public'));
}

function comparePolicy(before: unknown, after: unknown, report: Reporter): void {
  if (before === after) return;
  const text = `policy changed from ${before ?? 'unknown'} to ${after ?? 'unknown'}`;
  const isSafe = after !== undefined && (before === undefined || allowsAll(policyTerms(after), policyTerms(before)));
  if (isSafe) report.compatible(text);
  else report.breaking(text);
}

/**
 * Compares which callers an operation allows: policy (`x-policy`), ways to sign in (`security`) and the scope of API keys (`x-required-scope`).
 * A change is breaking if a caller that was allowed may now be refused.
 */
export function compareAccess(
  before: Json,
  after: Json,
  documents: { before: Json; after: Json },
  report: Reporter,
): void {
  comparePolicy(before['x-policy'], after['x-policy'], report);
  const [old, current] = [alternativesOf(before, documents.before), alternativesOf(after, documents.after)];
  const lost = old.filter((given) => !current.some((needed) => meets(given, needed)));
  const text = `security changed from ${describeAll(old)} to ${describeAll(current)}`;
  if (lost.length > 0) report.breaking(text);
  else if (!isDeepStrictEqual(old, current)) report.compatible(text);
  const [oldScope, newScope] = [before['x-required-scope'], after['x-required-scope']];
  if (oldScope === newScope) return;
  const scopes = [oldScope, newScope].filter((scope) => scope !== undefined).map(String);
  const scopeText = `scope of API keys changed from ${oldScope ?? 'none'} to ${newScope ?? 'none'}`;
  if (newScope === undefined) report.compatible(scopeText);
  else report.breaking(scopeText, ...scopes);
}
