export type * from '../../../../../src/extensions/console/accounts/responses.ts';
