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
import { texts } from './texts.ts';
import type { CountedClient, CountedClients } from './types.ts';

const { limits: words } = texts;

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
      label={words.clearLabel(label, client)}
      confirm={{
        title: words.clearTitle(client),
        text: words.clearText(label),
        action: words.clear,
      }}
      done={words.cleared}
    >
      {words.clear}
    </ActionButton>
  );
}

const clientColumns = (onDone: ClearProps['onDone']): TableColumn<CountedClient>[] => [
  { name: 'client', label: words.client, render: ({ client }) => <code>{client}</code> },
  {
    name: 'limit',
    label: words.limit,
    render: ({ name, label }) => <span class="operations-route">{name === 'all' ? words.allRoutes : label}</span>,
  },
  {
    name: 'count',
    label: words.requests,
    render: ({ count, limit, isLimited }) => (
      <Meter
        value={count}
        max={limit}
        text={words.requestsValue(numberText(count), numberText(limit))}
        isHigh={isLimited}
      />
    ),
  },
  {
    name: 'state',
    label: words.status,
    render: ({ isLimited }) => (
      <Status kind={isLimited ? 'bad' : 'good'}>{isLimited ? words.limited : words.within}</Status>
    ),
  },
  { name: 'left', label: words.left, isNumber: true, render: ({ leftMs }) => windowText(Math.max(0, leftMs)) },
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
    <Section title={words.clients}>
      <Loaded from={from}>
        {({ clients, counted, limited, isCut }) =>
          clients.length === 0 ? (
            <Nothing title={words.noClient}>
              <p>{words.noClientNote}</p>
            </Nothing>
          ) : (
            <>
              <p class="soft part-text operations-lead">
                {limited === 0 ? words.noneLimited : words.someLimited(numberText(limited))}
                {isCut && ` ${words.isCut(numberText(counted))}`}
              </p>
              <ClientTable label={words.countedTable} rows={clients} onDone={from.reload} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
