import { z } from 'zod';
import {
  type AccountPanel,
  type AccountSection,
  ApiError,
  type ConfigErrors,
  type ConsoleRoute,
  countParameter,
  isId,
  isStorable,
  type PanelAction,
  type PanelContent,
  type RouteContext,
  type SectionForm,
  type Translation,
  withMeta,
} from '../../../extension/index.ts';
import { secondFactorCode } from '../access/second-factor.ts';
import { type AccountsTabContext, loadAccount } from './context.ts';
import type { ShownAction, ShownForm, ShownPanel, ShownSection } from './responses.ts';
import { translateColumns, translateContent, translateRows } from './translate-panels.ts';

const ID = /^[a-z]+(-[a-z]+)*$/;
const ACTION = /^[a-z][A-Za-z]*$/;
const MAX_ROW_ID = 320;

const rowError = { error: 'Must be the id of a row' };
const row = z.string(rowError).min(1, rowError).max(MAX_ROW_ID, rowError).refine(isStorable, rowError);
const accountActionBody = z.strictObject({ code: secondFactorCode });
const rowActionBody = z.strictObject({ row, code: secondFactorCode });

const text = z
  .string({ error: 'Must be a text' })
  .max(MAX_ROW_ID, { error: `Must have at most ${MAX_ROW_ID} characters` });
const sectionQuery = z.strictObject({
  state: text.optional(),
  search: text.optional(),
  after: text.optional(),
  limit: countParameter(100, 50),
});

/** Reports ids of panels, sections and actions that do not work as parts of paths or as names in the audit trail. */
export function checkAccountPanels(
  panels: readonly AccountPanel[],
  sections: readonly AccountSection[],
  errors: ConfigErrors,
): void {
  const ids = new Set<string>();
  const parts = [
    ...panels.map(({ id, rowActions = [], accountActions = [] }) => ({
      id,
      actions: [...rowActions, ...accountActions],
    })),
    ...sections.map(({ id, rowActions = [], form }) => ({ id, actions: [...rowActions, ...(form ? [form] : [])] })),
  ];
  for (const { id, actions } of parts) {
    const at = errors.at(`account panel "${id}"`);
    if (!ID.test(id)) at.report('the id must consist of lowercase letters and hyphens');
    if (ids.has(id)) at.report('another feature adds a panel or section with this id; change one of them');
    ids.add(id);
    const names = actions.map((action) => action.id);
    for (const name of names) if (!ACTION.test(name)) at.report(`the action "${name}" must be a word in camelCase`);
    if (new Set(names).size < names.length) at.report('two actions have the same id; change one of them');
  }
}

/** The parts of an action that the page needs. */
function describeAction(
  { id, label, confirm, isDangerous = false, done }: PanelAction<never>,
  { text }: Translation,
): ShownAction {
  const question = confirm === undefined ? null : { title: text(confirm.title), text: text(confirm.text) };
  return { id, label: text(label), confirm: question, isDangerous, done: text(done) };
}

const describeForm = ({ id, label, fields, done }: SectionForm, { text, members }: Translation): ShownForm => ({
  id,
  label: text(label),
  fields: fields.map((field) => members(field, ['label', 'hint'])),
  done: text(done),
});

/** The parts of a section that the page needs. */
export function describeSection(section: AccountSection, translation: Translation): ShownSection {
  const { form, rowActions = [], columns, states, search, read: _, ...shown } = section;
  const { text, members } = translation;
  return {
    ...members(shown, ['label', 'intro', 'empty']),
    columns: translateColumns(columns, text),
    ...(states && { states: states.map((state) => members(state, ['label'])) }),
    ...(search && { search: members(search, ['label', 'hint']) }),
    rowActions: rowActions.map((action) => describeAction(action, translation)),
    form: form === undefined ? null : describeForm(form, translation),
  };
}

/** A panel with its content, as the page shows it. `error`: why there is no content. */
function describePanel(panel: AccountPanel, translation: Translation): Omit<ShownPanel, 'error'> {
  const { id, label, columns = [], empty, rowActions = [], accountActions = [] } = panel;
  const { text } = translation;
  return {
    id,
    label: text(label),
    columns: translateColumns(columns, text),
    empty: empty === undefined ? null : text(empty),
    rowActions: rowActions.map((action) => describeAction(action, translation)),
    accountActions: accountActions.map((action) => describeAction(action, translation)),
  };
}

/** Reads all panels of an account at the same time. A panel that fails says so, and the others are shown. */
export async function readPanels(
  { host }: Pick<AccountsTabContext, 'host'>,
  panels: readonly AccountPanel[],
  userId: string,
  translation: Translation,
): Promise<ShownPanel[]> {
  const results = await Promise.allSettled(panels.map((panel) => panel.read(userId)));
  return panels.flatMap((panel, i): ShownPanel[] => {
    const result = results[i]!;
    const described = describePanel(panel, translation);
    if (result.status === 'rejected') {
      host.log.error({ err: result.reason, panel: panel.id }, 'Could not read a panel of an account');
      const none: PanelContent = { actions: [] };
      const error = translation.text('This part could not be read. The log of the server has the reason.');
      return [{ ...described, ...none, error }];
    }
    if (result.value === undefined) return [];
    const content = translateContent(result.value, panel.columns ?? [], translation);
    return [{ ...described, ...content, error: null }];
  });
}

/** The id of a row for the audit trail. An id that is chosen by a feature may be a personal value, such as an address, so it is masked. */
const recordedRow = (id: string) => (isId(id) ? id : `${[...id][0]}***`);

/** An action, with its path and what it is about: an account, or a row of a section. */
interface RoutedAction {
  path: string;
  action: PanelAction<never>;
  hasRow: boolean;
  /** The id of the section; undefined: the action is about an account. */
  section?: string;
}

/** Creates the route of an action. The audit trail names the user or the section, and the row. */
function actionRoute(context: AccountsTabContext, { path, action, hasRow, section }: RoutedAction): ConsoleRoute {
  const { users, host } = context;
  const rowOf = ({ input }: RouteContext): string | undefined => (input as { row?: string }).row;
  return {
    method: 'POST',
    path,
    input: hasRow ? rowActionBody : accountActionBody,
    status: 204,
    action: action.id,
    async check(ctx) {
      const target = section === undefined ? await loadAccount({ users }, ctx.params.id!) : undefined;
      if (action.needsSecondFactor === true) await host.accounts!.power.confirm(ctx, target, ctx.input.code);
    },
    recordedAs(ctx) {
      const rowId = rowOf(ctx);
      const details = rowId === undefined ? {} : { details: { row: recordedRow(rowId) } };
      if (section === undefined) return { resource: users.name, record: ctx.params.id!, ...details };
      return { resource: section, record: rowId !== undefined && isId(rowId) ? rowId : null, ...details };
    },
    async handler(ctx) {
      const target = { userId: ctx.params.id, rowId: rowOf(ctx) };
      await (action.run as (given: typeof target, ctx: RouteContext) => Promise<void>)(target, ctx);
    },
  };
}

/** The routes of the actions of panels. */
export function panelRoutes(context: AccountsTabContext, panels: readonly AccountPanel[]): ConsoleRoute[] {
  return panels.flatMap(({ id, rowActions = [], accountActions = [] }) => {
    const at = (action: PanelAction<never>) => `/users/:id/panels/${id}/${action.id}`;
    return [
      ...rowActions.map((action) => actionRoute(context, { path: at(action), action, hasRow: true })),
      ...accountActions.map((action) => actionRoute(context, { path: at(action), action, hasRow: false })),
    ];
  });
}

/** The routes of sections: their rows, their actions, and their forms. */
export function sectionRoutes(context: AccountsTabContext, sections: readonly AccountSection[]): ConsoleRoute[] {
  const { host } = context;
  return sections.flatMap(({ id, read, columns, states = [], rowActions = [], form }): ConsoleRoute[] => [
    {
      method: 'GET',
      path: `/sections/${id}`,
      query: sectionQuery,
      async handler(ctx) {
        const { state, search, after, limit } = ctx.query as unknown as z.output<typeof sectionQuery>;
        if (state !== undefined && !states.some((one) => one.id === state))
          throw new ApiError('BAD_REQUEST', 'The parameter "state" must be one of the states of the section');
        const { rows, next } = await read({ state, search: search?.trim() || undefined, after, limit });
        return withMeta(translateRows(rows, columns, host.languages.for(ctx.req)), { limit, next });
      },
    },
    ...rowActions.map((action) =>
      actionRoute(context, { path: `/sections/${id}/${action.id}`, action, hasRow: true, section: id }),
    ),
    ...(form === undefined
      ? []
      : [
          {
            method: 'POST',
            path: `/sections/${id}/${form.id}`,
            input: form.input,
            status: 204,
            action: form.id,
            recordedAs: () => ({ resource: id, record: null }),
            handler: form.run,
          } satisfies ConsoleRoute,
        ]),
  ]);
}
