import type { Fields, RouteContext } from '../../../extension/index.ts';
import type { TabLink } from '../access/tabs.ts';
import { listAccountFields, listFieldsOfNewAccount } from './accounts.ts';
import type { DataContext } from './context.ts';
import { listFields } from './field-info.ts';
import { labelOf } from './labels.ts';
import { describeResource } from './resource-info.ts';
import type { AppInfo } from './responses.ts';

/** Creates the handler of `GET /app`. The description of the app is computed once, at the first request. */
export function createAppInfoReader(
  data: DataContext,
  { tabs, findScript }: { tabs: readonly TabLink[]; findScript: () => Promise<string> },
): (ctx: RouteContext) => Promise<AppInfo> {
  const { host, users, mode } = data;
  const { env, settings, resources } = host;
  let known: Pick<AppInfo, 'features' | 'resources'> | undefined;
  const describeTab = async ({ findFiles, ...link }: TabLink) => ({
    ...link,
    ...(findFiles && { page: await findFiles() }),
  });

  function describeApp(): Pick<AppInfo, 'features' | 'resources'> {
    const specs = resources.flatMap(({ declaration }) =>
      listFields(declaration.fields as Fields).map(([, spec]) => spec),
    );
    const hasAuditTrail = host.auditTrail() !== undefined;
    return {
      features: {
        softDelete: resources.some(({ declaration }) => declaration.softDelete === true),
        audit: hasAuditTrail,
        realtime: host.routes().some(({ path }) => path === '/realtime'),
        files: specs.some(({ file, inner }) => (file ?? inner?.spec.file) !== undefined),
        organisations: specs.some(({ tenant }) => tenant === true),
        signInPages: host.pages().some(({ path }) => path === '/auth/sign-in'),
      },
      resources: resources.map((gateway) =>
        describeResource(gateway, resources, hasAuditTrail, {
          all: listAccountFields(data, gateway),
          ofNew: listFieldsOfNewAccount(data, gateway),
        }),
      ),
    };
  }

  return async ({ user }) => {
    known ??= describeApp();
    return {
      name: env.appUrl === undefined ? settings.openapi.title : new URL(env.appUrl).host,
      mode,
      script: await findScript(),
      user: mode === 'development' || user === undefined ? null : { id: user.id, label: labelOf(users, user) },
      tabs: await Promise.all(tabs.map(describeTab)),
      ...known,
    };
  };
}
