import {
  ActionButton,
  call,
  DataTable,
  type Load,
  Loaded,
  Nothing,
  Section,
  Status,
  type TableColumn,
} from '../../console/kit.ts';
import { Meter, numberText, windowText } from './format.tsx';
import type { CountedClient, CountedClients } from './types.ts';

interface ClearProps {
  row: CountedClient;
  onDone: () => Promise<unknown>;
}

function ClearClient({ row: { name, label, windowMs, client }, onDone }: ClearProps) {
  const clear = async () => {
    await call('/operations/limits/clients/clear', { method: 'POST', body: { name, windowMs, client } });
    await onDone();
  };
  return (
    <ActionButton
      run={clear}
      label={`Clear ${label} for ${client}`}
      confirm={{
        title: `Let ${client} send requests again?`,
        text: `Its count for "${label}" is deleted. All processes know that within 10 seconds.`,
        action: 'Clear',
      }}
      done="The count is cleared"
    >
      Clear
    </ActionButton>
  );
}

const clientColumns = (onDone: ClearProps['onDone']): TableColumn<CountedClient>[] => [
  { name: 'client', label: 'Client', render: ({ client }) => <code>{client}</code> },
  { name: 'limit', label: 'Limit', render: ({ label }) => <span class="operations-route">{label}</span> },
  {
    name: 'count',
    label: 'Requests',
    render: ({ count, limit, isLimited }) => (
      <Meter value={count} max={limit} text={`${numberText(count)} of ${numberText(limit)}`} isHigh={isLimited} />
    ),
  },
  {
    name: 'state',
    label: 'Status',
    render: ({ isLimited }) => (isLimited ? <Status kind="bad">limited</Status> : <Status kind="good">within</Status>),
  },
  { name: 'left', label: 'Window ends in', isNumber: true, render: ({ leftMs }) => windowText(Math.max(0, leftMs)) },
  { name: 'actions', label: '', isNumber: true, render: (row) => <ClearClient row={row} onDone={onDone} /> },
];

/** Clients with their counts. */
export function ClientTable(props: { label: string; rows: CountedClient[]; onDone: ClearProps['onDone'] }) {
  const { label, rows, onDone } = props;
  return (
    <DataTable
      label={label}
      rows={rows}
      columns={clientColumns(onDone)}
      keyOf={({ name, windowMs, client }) => `${name} ${windowMs} ${client}`}
    />
  );
}

/** The clients that are counted now. */
export function Clients({ from }: { from: Load<CountedClients> }) {
  return (
    <Section title="Active clients">
      <Loaded from={from}>
        {({ clients, counted, limited, isCut }) =>
          clients.length === 0 ? (
            <Nothing title="No client is counted">
              <p>
                Each request counts for its client until the window of the limit ends. Clients near or above their limit
                appear here, the busiest first.
              </p>
            </Nothing>
          ) : (
            <>
              <p class="soft part-text operations-lead">
                {limited === 0 ? 'No client is limited.' : `${numberText(limited)} counts are above their limit.`}
                {isCut &&
                  ` Redis has more than are shown: of the ${numberText(counted)} that were read, these are the busiest.`}
              </p>
              <ClientTable label="Counted clients" rows={clients} onDone={from.reload} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
