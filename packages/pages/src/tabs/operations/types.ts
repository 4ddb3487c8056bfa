export type * from '../../../../../src/extensions/console/operations/responses.ts';
