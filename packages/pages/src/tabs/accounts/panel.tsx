import type { ComponentChildren } from 'preact';
import {
  ActionButton,
  app,
  DataTable,
  Facts,
  Section,
  Status,
  showToast,
  type TableColumn,
} from '../../console/kit.ts';
import { sendAction } from './dialog.tsx';
import type { PanelColumn, PanelFact, PanelRow, ShownAction, ShownPanel } from './types.ts';
import { ShownValue } from './values.tsx';

/**
 * The button of an action that the server describes. `of`: the name of the row, for the accessible name; `onDone`: after success, and after a
 * failure, which may be due to a change by another person.
 */
function PanelActionButton(props: {
  action: ShownAction;
  path: string;
  body?: object;
  of?: string;
  onDone: () => Promise<void>;
}) {
  const { action, path, body = {}, of, onDone } = props;
  const { confirm, isDangerous } = action;
  const label = action.label;
  const run = async () => {
    try {
      if (await sendAction(path, body)) showToast(action.done);
    } finally {
      await onDone();
    }
  };
  return (
    <ActionButton
      kind={isDangerous ? 'danger quiet' : ''}
      label={of === undefined ? undefined : `${label}: ${of}`}
      confirm={
        confirm === null
          ? undefined
          : {
              title: confirm.title,
              text: [...(of === undefined ? [] : [`${of}.`]), confirm.text].join(' '),
              action: label,
              isDangerous,
            }
      }
      run={run}
    >
      {label}
    </ActionButton>
  );
}

/** Rows with a column of buttons, if any row has an action. */
export function PanelRows(props: {
  label: string;
  columns: readonly PanelColumn[];
  rows: readonly PanelRow[];
  actions: readonly ShownAction[];
  pathOf: (action: ShownAction) => string;
  onDone: () => Promise<void>;
}) {
  const { label, columns, rows, actions, pathOf, onDone } = props;
  const actionsOf = (row: PanelRow) =>
    actions.filter(({ id }) => row.actions === undefined || row.actions.includes(id));
  const nameOf = ({ id, values }: PanelRow) => String((columns[0] && values[columns[0].name]) || id);
  const shown = columns.map(
    ({ name, label: columnLabel, kind }): TableColumn<PanelRow> => ({
      name,
      label: columnLabel,
      render: ({ values }) => <ShownValue value={values[name]} kind={kind} />,
    }),
  );
  const buttons: TableColumn<PanelRow> = {
    name: 'actions',
    label: '',
    render: (row) => (
      <span class="accounts-buttons">
        {actionsOf(row).map((action) => (
          <PanelActionButton
            key={action.id}
            action={action}
            path={pathOf(action)}
            body={{ row: row.id }}
            of={nameOf(row)}
            onDone={onDone}
          />
        ))}
      </span>
    ),
  };
  const hasButtons = rows.some((row) => actionsOf(row).length > 0);
  return (
    <div class="accounts-table">
      <DataTable label={label} rows={rows} columns={hasButtons ? [...shown, buttons] : shown} />
    </div>
  );
}

const toFact = ({ label, value, kind, tone }: PanelFact): [string, ComponentChildren] => [
  label,
  tone === undefined ? <ShownValue value={value} kind={kind} /> : <Status kind={tone}>{String(value)}</Status>,
];

/** Whether the console has a tab with this address. */
const hasTab = (href: string) =>
  app.value.tabs.some(({ path }) => href === path || href.startsWith(`${path}/`) || href.startsWith(`${path}?`));

/** A panel of an account, as the server describes it. */
export function Panel(props: { panel: ShownPanel; userId: string; onDone: () => Promise<void> }) {
  const { panel, userId, onDone } = props;
  const { id, columns, empty, error, facts = [], rows = [], link, rowActions, accountActions } = panel;
  const label = panel.label;
  const pathOf = (action: ShownAction) => `/accounts/users/${encodeURIComponent(userId)}/panels/${id}/${action.id}`;
  const offered = accountActions.filter((action) => panel.actions === undefined || panel.actions.includes(action.id));
  const buttons = offered.map((action) => (
    <PanelActionButton key={action.id} action={action} path={pathOf(action)} onDone={onDone} />
  ));
  const isEmpty = facts.length === 0 && rows.length === 0;
  return (
    <Section title={label} actions={buttons.length > 0 && buttons}>
      {error && (
        <p class="banner bad" role="alert">
          {error}
        </p>
      )}
      {facts.length > 0 && (
        <div class="card accounts-facts">
          <Facts of={facts.map(toFact)} />
        </div>
      )}
      {rows.length > 0 && (
        <PanelRows label={label} columns={columns} rows={rows} actions={rowActions} pathOf={pathOf} onDone={onDone} />
      )}
      {isEmpty && !error && empty && <p class="soft part-text">{empty}</p>}
      {link && hasTab(link.href) && (
        <p class="accounts-link">
          <a href={link.href}>{link.label}</a>
        </p>
      )}
    </Section>
  );
}
