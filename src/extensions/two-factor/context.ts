import type { Accounts } from '../../declare/accounts.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { TwoFactorSettings } from './settings.ts';

/** The dependencies of the extension's operations. */
export interface TwoFactorContext {
  host: Pick<Host, 'database' | 'keyring' | 'events'>;
  accounts: Accounts;
  users: ResourceGateway;
  settings: TwoFactorSettings;
}
