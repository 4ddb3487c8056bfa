import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/environment.ts';
import { erasureParts, erasures } from './erasure/index.ts';

/**
 * Privacy: users have their account erased with all that belongs to it, by the declarations: `onOwnerDelete`, `personalFields`,
 * `pii()`.
 *
 * @example createApp({ resources, extensions: [privacy()] }, process.env)
 */
export function privacy(): Extension {
  return defineExtension({
    name: 'privacy',
    resourceOptions: ['onOwnerDelete', 'personalFields'],
    tables: { privacy_erasures: erasures },
    setup(host) {
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('privacy() cannot work:', ['it needs accounts, see defineUser']);
      }
      return erasureParts(host, accounts, users);
    },
  });
}
