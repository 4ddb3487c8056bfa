import {
  ActionButton,
  call,
  DataTable,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { numberText } from './format.tsx';
import { POLL_MS, QUEUE_COLUMNS, QUEUES } from './queues.tsx';
import { texts } from './texts.ts';
import type { FailedEntry, QueueState } from './types.ts';

const { queue: words } = texts;

function FailedItem(props: { queue: string; entry: FailedEntry; onChange: () => Promise<void> }) {
  const { queue, entry, onChange } = props;
  const path = `/operations/queues/${encodeURIComponent(queue)}/failed/${encodeURIComponent(entry.id)}`;
  const change = (suffix: string, method: string) => async () => {
    await call(path + suffix, { method });
    await onChange();
  };
  const question = {
    title: words.removeTitle,
    text: words.removeText,
    action: words.remove,
    isDangerous: true,
  };
  return (
    <li>
      <div class="operations-row-head">
        <span>
          <b>{entry.name}</b> <code>{entry.id}</code>
        </span>
        <span class="actions">
          <ActionButton run={change('/retry', 'POST')} done={words.retried} label={words.retryLabel(entry.id)}>
            {words.retry}
          </ActionButton>
          <ActionButton
            kind="danger quiet"
            run={change('', 'DELETE')}
            confirm={question}
            done={words.removed}
            label={words.removeLabel(entry.id)}
          >
            {words.remove}
          </ActionButton>
        </span>
      </div>
      <p class="soft">
        <Status kind="bad">{words.failed}</Status> <Time value={entry.at} />{' '}
        {words.failedAfter(numberText(entry.attempts))}
        {entry.row && (
          <>
            , {words.row} <code>{entry.row}</code>
          </>
        )}
      </p>
      <pre class="operations-error">{entry.error}</pre>
    </li>
  );
}

function FailedEntries({ queue }: { queue: string }) {
  const failed = useLoaded<FailedEntry[]>(`/operations/queues/${encodeURIComponent(queue)}/failed`);
  if (failed.data?.length === 0) return null;
  return (
    <Section title={words.kept}>
      <Loaded from={failed}>
        {(entries) => (
          <ul class="operations-list">
            {entries.map((entry) => (
              <FailedItem key={entry.id} queue={queue} entry={entry} onChange={failed.reload} />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  );
}

function RecentFailures({ failures }: Pick<QueueState, 'failures'>) {
  if (failures.length === 0)
    return (
      <Nothing title={words.noFailure}>
        <p>{words.noFailureNote}</p>
      </Nothing>
    );
  return (
    <ul class="operations-list">
      {failures.map(({ id, name, error, at }) => (
        <li key={`${id} ${at}`}>
          <div class="operations-row-head">
            <span>
              <b>{name}</b> <code>{id}</code>
            </span>
            <span class="soft">
              <Status kind="bad">{words.failed}</Status> <Time value={at} />
            </span>
          </div>
          <pre class="operations-error">{error}</pre>
        </li>
      ))}
    </ul>
  );
}

/** A queue with its failures. */
export function QueuePage({ name }: { name: string }) {
  const queues = useLoaded<QueueState[]>('/operations/queues', { everyMs: POLL_MS });
  const back = { href: QUEUES, label: texts.queues.title };
  return (
    <Page title={name} back={back} intro={words.intro}>
      <Loaded from={queues}>
        {(rows) => {
          const queue = rows.find((one) => one.name === name);
          if (queue === undefined)
            return (
              <Nothing title={words.none}>
                <p>{words.noneNote}</p>
              </Nothing>
            );
          return (
            <>
              <DataTable label={words.state} rows={[queue]} columns={QUEUE_COLUMNS.slice(1)} keyOf={() => name} />
              <Section title={words.recent}>
                <RecentFailures failures={queue.failures} />
              </Section>
              {queue.failed > 0 && <FailedEntries queue={name} />}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
