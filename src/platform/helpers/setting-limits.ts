import { z } from 'zod';

/** Maximum of settings in days: a century. A larger number is a typo, and no date can hold it. */
export const MAX_DAYS = 36_500;

/** Maximum of settings in minutes: a year. A larger number is a typo. */
export const MAX_MINUTES = 525_600;

/** Maximum of settings in ms that a request or a statement may take: an hour. A larger number is a typo. */
export const MAX_STALL_MS = 3_600_000;

/** The schema of a setting that is a function. */
export const functionSetting = <F>() =>
  z.custom<F>((value) => typeof value === 'function', { error: 'must be a function' });
