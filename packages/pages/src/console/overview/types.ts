export type * from '../../../../../src/extensions/console/overview/responses.ts';
