import type { FeatureParts } from '../declare/extension.ts';

/** Whether `setup` gave parts. A promise of them would be an extension that brings nothing. */
export function isParts(given: unknown): given is FeatureParts {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && !('then' in given);
}
