export type * from '../../../../../src/extensions/webhooks/console/responses.ts';
