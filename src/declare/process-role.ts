// In a file of its own, because the command line must list the roles without loading anything else.

/** The roles that a process can have. */
export const PROCESS_ROLES = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];
