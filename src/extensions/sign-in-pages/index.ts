import { createThemeCss, defineExtension, type Extension, StartupError } from '../../extension/index.ts';
import { createPageConfig, type PageConfig } from './page-config.ts';
import { pageFileRoutes } from './page-files.ts';
import { type SignInPagesOptions, signInPagesSettings } from './settings.ts';

export type { SignInPagesOptions } from './settings.ts';

/**
 * Ready-made pages at `/auth/*` for accounts and for the ways to sign in that the app has: registration, sign-in, e-mail links, second
 * factors, and the user's own account. They use the same routes as every other client.
 *
 * @example createApp({ resources, extensions: [passkeys(), signInPages({ afterSignIn: '/app' })] }, process.env)
 */
export function signInPages(options: SignInPagesOptions = {}): Extension {
  return defineExtension({
    name: 'signInPages',
    settings: signInPagesSettings,
    options,
    setup(host, { title, afterSignIn, theme, stylesheet, logo }) {
      const { accounts, users, env } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('signInPages() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      const name = title ?? (env.appUrl === undefined ? host.settings.openapi.title : new URL(env.appUrl).host);
      let config: PageConfig | undefined;
      const getConfig = () => {
        config ??= createPageConfig(host, users, { title: name, afterSignIn });
        return config;
      };
      const themeCss = theme === undefined ? undefined : createThemeCss(theme);
      return { pages: pageFileRoutes({ config: getConfig, themeCss, stylesheet, logo }) };
    },
  });
}
