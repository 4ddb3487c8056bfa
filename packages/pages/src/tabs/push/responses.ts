export type * from '../../../../../src/extensions/console/push/responses.ts';
