/** An id in an answer. */
export const ID_SCHEMA = { type: 'string', pattern: '^[0-9a-f]{24}$', examples: ['65f0c1d2e3a4b5c6d7e8f901'] };

/** A point in time in an answer. */
export const TIME_SCHEMA = { type: 'string', format: 'date-time' };
