export type * from '../../../../../src/extensions/console/data/responses.ts';
