export type * from '../../../../../src/extensions/console/mails/responses.ts';
