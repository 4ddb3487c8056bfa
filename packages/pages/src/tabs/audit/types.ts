export type * from '../../../../../src/extensions/audit/trail/responses.ts';
