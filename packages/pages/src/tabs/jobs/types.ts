export type * from '../../../../../src/extensions/console/jobs/responses.ts';
