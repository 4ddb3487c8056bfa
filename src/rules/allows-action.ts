import { allowsEveryRecord, type CompiledPolicy, type PolicyArguments } from '../declare/policy.ts';
import { runForViewer } from './acting.ts';

/** The default handler for errors of a rule: throws them to the caller. */
export function rethrow(error: unknown): never {
  throw error;
}

const UNUSABLE_FILTER =
  'a policy function returned a filter; only visibleTo, writableBy and the policies list, read, update, delete and reference of a resource can be filters';

/**
 * Whether a policy allows an action on one record.
 *
 * @param owns whether the viewer owns the record
 * @param onError called with the error of a function that throws. If `onError` returns, the function allows nothing. Left out: the error is
 *   thrown
 * @param meetsFilter decides whether the record meets a filter that a function returned; left out: a filter allows nothing and is reported to
 *   `onError`, if there is one
 */
export async function allowsAction(
  policy: CompiledPolicy,
  args: PolicyArguments,
  owns: boolean,
  onError: (error: unknown) => void = rethrow,
  meetsFilter?: (filter: object) => boolean | Promise<boolean>,
): Promise<boolean> {
  if (allowsEveryRecord(policy, args.user)) return true;
  if (policy.owner && owns && args.user !== undefined) return true;
  for (const rule of policy.functions) {
    try {
      const result: unknown = await runForViewer(args, () => rule(args));
      if (result === true) return true;
      if (typeof result !== 'object' || result === null) continue;
      if (meetsFilter === undefined && onError !== rethrow) onError(new Error(UNUSABLE_FILTER));
      if (await meetsFilter?.(result)) return true;
    } catch (error) {
      onError(error);
    }
  }
  return false;
}
