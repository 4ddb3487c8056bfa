import { expect, test } from 'vitest';
import { apiKeys, audit, defineUser, privacy, realtime, softDelete, twoFactor, webhooks } from '../../src/index.ts';
import { startupError } from '../support/startup-error.ts';

test.each(Object.entries({ apiKeys, audit, privacy, realtime, softDelete, twoFactor, webhooks }))(
  '%s refuses a setting that it does not have: one that is written wrong does not pass for its default',
  (name, make) => {
    const said = startupError({ resources: [defineUser()], extensions: [make({ keepDay: 5 } as never)] });
    expect(said).toContain(`${name}: Unrecognized key: "keepDay"`);
  },
);
