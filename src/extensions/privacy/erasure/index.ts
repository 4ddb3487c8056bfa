import type { Accounts } from '../../../declare/accounts.ts';
import type { ExtensionHost, FeatureParts } from '../../../declare/extension.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import { ConfigErrors } from '../../../platform/config-errors.ts';
import { erasurePlan } from '../../../records/schema/erasure-plan.ts';
import { checkErasure } from './config-errors.ts';
import { createEraseAccount } from './erase-account.ts';
import { createRecordEraser } from './record-eraser.ts';
import { createRedactOutbox } from './redact-outbox.ts';
import { createRequestErasure } from './request.ts';
import { erasureRoutes } from './routes.ts';
import { stayDeleting } from './stay-deleting.ts';
import { erasureSweep } from './sweeps.ts';

export { erasures } from './tables.ts';

/** The erasure of accounts. */
export function erasureParts(host: ExtensionHost, accounts: Accounts, users: ResourceGateway): FeatureParts {
  const check = (errors: ConfigErrors) => {
    checkErasure(host.resources, users, errors);
    return errors;
  };
  // No plan can be made of wrong options; nor is the app made then.
  if (check(new ConfigErrors()).lines.length > 0) return { checkConfig: check };
  const owned = host.resources.flatMap((gateway) => {
    const plan = erasurePlan(gateway.declaration, false);
    return gateway === users || plan.ownerField === undefined ? [] : [createRecordEraser(host, gateway, plan)];
  });
  // Whoever owns users: only one's own account goes with it.
  const plan = { ...erasurePlan(users.declaration, true), ownerField: 'id', ownerColumn: 'id' };
  const user = createRecordEraser(host, users, plan);
  const redact = createRedactOutbox(host, [user, ...owned.filter((share) => share.plan.action !== 'keep')]);
  return {
    routes: erasureRoutes(host, accounts, createRequestErasure(host, users)),
    jobs: { erase: { run: createEraseAccount(host, accounts, users, { user, owned, redact }), concurrency: 2 } },
    consumers: [stayDeleting(users)],
    sweeps: [erasureSweep(host)],
  };
}
