import type {
  AccountPanel,
  ConfigErrors,
  ConsoleTab,
  ExtensionHost,
  ResourceGateway,
  RouteContext,
} from '../../../extension/index.ts';
import {
  changeEmail,
  changeRoles,
  confirmChange,
  confirmRoles,
  disableAccount,
  emailBody,
  enableAccount,
  rolesBody,
  statusBody,
} from './changes.ts';
import { type AccountsTabContext, loadAccount, readAccountFields } from './context.ts';
import { accountsQuery, listAccounts, panelsWithSummary, toAccountInfo } from './list.ts';
import { checkAccountPanels, describeSection, panelRoutes, readPanels, sectionRoutes } from './panel-routes.ts';
import type { Account, AccountFacts } from './responses.ts';
import { shownKind } from './translate-panels.ts';

const isReadOnly = ({ rowActions = [], accountActions = [] }: AccountPanel) =>
  rowActions.length === 0 && accountActions.length === 0;

/**
 * Creates the tab of the accounts: the list of users, a page of each user with the panels of all features, and the sections of features.
 * Called when all features are set up.
 *
 * @param errors receives panels that cannot be served
 */
export function createAccountsTab(host: ExtensionHost, users: ResourceGateway, errors: ConfigErrors): ConsoleTab {
  // What administrators can act on comes first.
  const panels = host.accountPanels().toSorted((a, b) => Number(isReadOnly(a)) - Number(isReadOnly(b)));
  const sections = host.accountSections().toSorted((a, b) => a.label.localeCompare(b.label));
  checkAccountPanels(panels, sections, errors);
  const fields = readAccountFields(users);
  const context: AccountsTabContext = { host, users, fields };
  const summaries = panelsWithSummary(panels);

  const readFacts = ({ req }: RouteContext): AccountFacts => {
    const translation = host.languages.for(req);
    return {
      ...facts,
      summaries: summaries.map(({ id, summary: { label, kind = 'text' } }) => ({
        id,
        label: translation.text(label),
        kind: shownKind(kind),
      })),
      sections: sections.map((section) => describeSection(section, translation)),
    };
  };
  const facts = {
    roles: fields.roles ?? null,
    hasStatus: fields.hasStatus,
    hasVerification: fields.hasVerification,
  };

  async function readAccount({ params, user: viewer, req }: RouteContext): Promise<Account> {
    const id = params.id!;
    const user = await loadAccount(context, id);
    const isSelf = viewer?.id === id;
    return {
      ...toAccountInfo(fields, user),
      isSelf,
      panels: await readPanels(context, panels, id, host.languages.for(req)),
    };
  }

  /** Changes of a user that exists. */
  const change = { method: 'POST', check: (ctx: RouteContext) => confirmChange(context, ctx) } as const;
  const recordedAs = ({ params }: RouteContext) => ({ resource: users.name, record: params.id! });

  return {
    id: 'accounts',
    label: 'Accounts',
    routes: [
      { method: 'GET', path: '/facts', handler: readFacts },
      { method: 'GET', path: '/users', query: accountsQuery, handler: (ctx) => listAccounts(context, summaries, ctx) },
      { method: 'GET', path: '/users/:id', handler: readAccount },
      {
        ...change,
        path: '/users/:id/roles',
        input: rolesBody,
        action: 'rolesChanged',
        check: (ctx) => confirmRoles(context, ctx),
        recordedAs: (ctx) => ({ ...recordedAs(ctx), details: { from: ctx.input.from, to: ctx.input.to } }),
        handler: (ctx) => changeRoles(context, ctx),
      },
      {
        ...change,
        path: '/users/:id/email',
        input: emailBody,
        action: 'emailChanged',
        recordedAs,
        handler: (ctx) => changeEmail(context, ctx),
      },
      {
        ...change,
        path: '/users/:id/disable',
        input: statusBody,
        action: 'accountDisabled',
        recordedAs,
        handler: (ctx) => disableAccount(context, ctx),
      },
      {
        ...change,
        path: '/users/:id/enable',
        input: statusBody,
        action: 'accountEnabled',
        recordedAs,
        handler: (ctx) => enableAccount(context, ctx),
      },
      ...panelRoutes(context, panels),
      ...sectionRoutes(context, sections),
    ],
  };
}
