import { expect, test } from 'vitest';
import {
  apiKeys,
  audit,
  defineUser,
  emailSignIn,
  emailVerification,
  invitations,
  organisations,
  passkeys,
  privacy,
  realtime,
  securityMails,
  signInPages,
  softDelete,
  twoFactor,
  webhooks,
} from '../../src/index.ts';
import { getStartupError } from '../support/startup-error.ts';

test.each(
  Object.entries({
    apiKeys,
    audit,
    emailSignIn,
    emailVerification,
    invitations,
    organisations: (options: never) => organisations(options),
    passkeys,
    privacy,
    realtime,
    securityMails,
    signInPages,
    softDelete,
    twoFactor,
    webhooks,
  }),
)('%s refuses unknown settings, so that a misspelt setting does not silently keep its default', (name, make) => {
  const startupError = getStartupError({ resources: [defineUser()], extensions: [make({ keepDay: 5 } as never)] });
  expect(startupError).toContain(`${name}.keepDay: there is no such setting`);
});
