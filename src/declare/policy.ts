import type { Request } from 'express';
import { isEmailVerified, type Viewer } from './actor.ts';
import type { Services } from './service.ts';

export type { Viewer } from './actor.ts';

/**
 * The argument of a policy function. `doc` is the stored record for item routes and field rules; for the field rules of a create, `doc` is
 * the record as it would be stored; otherwise undefined.
 */
export interface PolicyArguments {
  /** The caller or viewer; undefined if nobody is signed in. */
  user: Viewer | undefined;
  action: string;
  // biome-ignore lint/suspicious/noExplicitAny: a policy function is written against its own resource's fields
  doc: any;
  /** Undefined without a request: webhooks, realtime, code that acts for a user. */
  req: Request | undefined;
  /** The service of a resource, with system privilege unless a call says otherwise. */
  service: Services;
}

/**
 * Selects records: `{ status: 'published', views: { gte: 10 } }`. Of a list of filters, a record must meet at least one. Paths follow references and
 * reverse relations: `{ 'ticket.organisation.members.user': user.id }`; comparisons whose paths begin with the same relation are about the same
 * related record. `{ in: service('membership').query({ user: user.id }, 'organisation') }` compares with the results of a query.
 */
export type RecordFilter = Record<string, unknown> | readonly Record<string, unknown>[];

/**
 * A custom rule: returning true allows the action. Some rules may also return a filter, which allows the action on matching records: a
 * resource's policies for list, read, update, delete and reference, and the field rules `visibleTo` and `writableBy`.
 */
export type PolicyFunction = (args: PolicyArguments) => boolean | RecordFilter | Promise<boolean | RecordFilter>;

const TEXT = Symbol('policy text');

/** Returns the policy function with a text that stands for it in messages and in the OpenAPI document, instead of `function`. */
export function describePolicyFunction(rule: PolicyFunction, text: string): PolicyFunction {
  return Object.assign(rule, { [TEXT]: text });
}

/** The text that stands for a policy function in messages. */
export function textOfPolicyFunction(rule: PolicyFunction): string {
  return (rule as { [TEXT]?: string })[TEXT] ?? 'function';
}

/** `'owner | admin'`, a function, or an array that mixes both. Alternatives only: there is no AND. */
export type Policy = string | PolicyFunction | readonly (string | PolicyFunction)[];

const DECLARED = Symbol('declared policy');

/** Returns a policy that is evaluated in place of a declared one, which messages and the OpenAPI document continue to show. */
export function replacePolicy(declared: Policy, parts: readonly (string | PolicyFunction)[]): Policy {
  return Object.assign([...parts], { [DECLARED]: declaredPolicy(declared) });
}

/** The policy as the app declares it, if another one is evaluated in its place; otherwise the policy itself. */
export function declaredPolicy(policy: Policy): Policy {
  return (policy as { [DECLARED]?: Policy })[DECLARED] ?? policy;
}

const partsOf = (policy: Policy) => (Array.isArray(policy) ? policy : [policy]) as readonly (string | PolicyFunction)[];

/** A policy, parsed once at startup. */
export interface CompiledPolicy {
  /** The policy as written, for messages and for the OpenAPI document. */
  text: string;
  public: boolean;
  authenticated: boolean;
  /** Whether the policy allows users who have proved that they own their e-mail address. */
  verified: boolean;
  owner: boolean;
  roles: readonly string[];
  functions: readonly PolicyFunction[];
}

const ROLE_TOKEN = /^(?:role:)?([a-z][a-z0-9_-]*)$/i;
/** Words with a special meaning, and the words that they stand for. */
const POLICY_WORDS: Record<string, 'public' | 'authenticated' | 'verified' | 'owner' | 'none'> = {
  public: 'public',
  authenticated: 'authenticated',
  auth: 'authenticated',
  user: 'authenticated',
  verified: 'verified',
  owner: 'owner',
  self: 'owner',
  none: 'none',
  nobody: 'none',
};

/** Also the name of a role in apps that had it before: there, the word allows users with that role. */
export const VERIFIED = 'verified';

/** The error in a role name; undefined if policies can use the name. `user` is the role of every user. */
export function roleNameError(word: unknown): string | undefined {
  if (typeof word !== 'string' || ROLE_TOKEN.exec(word)?.[1] !== word)
    return `"${String(word)}" is not a role: a role consists of letters, digits, - and _, and begins with a letter`;
  const reserved = word !== 'user' && word !== VERIFIED && Object.hasOwn(POLICY_WORDS, word.toLowerCase());
  return reserved ? `"${word}" cannot be a role: it has a special meaning in policies; choose another` : undefined;
}

/**
 * Parses a policy.
 *
 * @param report called with the message of each error in the policy
 */
export function compilePolicy(policy: Policy, report: (text: string) => void): CompiledPolicy {
  const parts = partsOf(policy);
  const roles = new Set<string>();
  const words = new Set<string>();
  const functions = parts.filter((part) => typeof part === 'function');
  const tokens = parts.filter((part) => typeof part === 'string').flatMap((part) => part.split('|'));
  if (parts.length === 0) report('the policy is empty; write "none" to allow nobody');
  if (parts.some((part) => typeof part !== 'string' && typeof part !== 'function'))
    report('a policy consists of strings and functions; write "none" to allow nobody');
  for (const raw of tokens) {
    const token = raw.trim();
    const role = ROLE_TOKEN.exec(token)?.[1];
    const lower = token.toLowerCase();
    if (token === VERIFIED) roles.add(VERIFIED);
    if (Object.hasOwn(POLICY_WORDS, token)) words.add(POLICY_WORDS[token]!);
    else if (Object.hasOwn(POLICY_WORDS, lower)) report(`"${token}" must be written "${lower}"`);
    else if (role !== undefined) roles.add(role);
    else if (token.startsWith('org:'))
      report(`"${token}" is not a policy token here; it works only in the policies of resources with tenant()`);
    else
      report(
        `"${token}" is not a policy token; use public, authenticated, verified, owner, none or a role, joined by |`,
      );
  }
  return {
    text: partsOf(declaredPolicy(policy))
      .map((part) => (typeof part === 'function' ? textOfPolicyFunction(part) : part))
      .join(' | '),
    public: words.has('public'),
    authenticated: words.has('authenticated'),
    verified: words.has('verified'),
    owner: words.has('owner'),
    roles: [...roles],
    functions,
  };
}

/** Whether a policy allows no viewer, whatever the record. */
export function allowsNobody(policy: CompiledPolicy): boolean {
  if (policy.public || policy.authenticated || policy.verified || policy.owner) return false;
  return policy.roles.length === 0 && policy.functions.length === 0;
}

/** Whether a policy allows only viewers with certain roles. */
export function allowsOnlyRoles(policy: CompiledPolicy): boolean {
  if (policy.public || policy.authenticated || policy.verified || policy.owner) return false;
  return policy.roles.length > 0 && policy.functions.length === 0;
}

/** Whether a policy allows this viewer for every record: by `public`, by being signed in, by a verified address, or by a role. */
export function allowsEveryRecord(policy: CompiledPolicy, viewer: Viewer | undefined): boolean {
  if (policy.public) return true;
  if (viewer === undefined) return false;
  if (policy.verified && isEmailVerified(viewer)) return true;
  return policy.authenticated || policy.roles.some((role) => viewer.roles?.includes(role) ?? false);
}
