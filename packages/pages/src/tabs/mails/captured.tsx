import {
  chosenParams,
  Facts,
  hrefOf,
  Listing,
  Loaded,
  Nothing,
  Page,
  type TableColumn,
  Time,
  useLoaded,
  useSearchField,
} from '../../console/kit.ts';
import { MailPreview, viewParams } from './preview.tsx';
import type { CapturedMail, CapturedMailItem } from './types.ts';

const CAPTURED = '/console/mails/captured';
/** The interval in ms at which the list is read, because e-mails are captured at any time. */
const READ_EVERY_MS = 2000;

/** The kind of an e-mail; code of the project sends e-mails without one. */
const Kind = ({ kind }: { kind: string | null }) =>
  kind === null ? <span class="soft mails-kind">by your code</span> : <code>{kind}</code>;

const COLUMNS: TableColumn<CapturedMailItem>[] = [
  {
    name: 'subject',
    label: 'Subject',
    render: ({ id, subject }) => <a href={hrefOf(`${CAPTURED}/${id}`, viewParams())}>{subject}</a>,
  },
  { name: 'to', label: 'Recipient', render: ({ to }) => to },
  { name: 'kind', label: 'Kind', render: ({ kind }) => <Kind kind={kind} /> },
  { name: 'at', label: 'Captured', render: ({ createdAt }) => <Time value={createdAt} /> },
];

function NoMails({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No e-mail to this address">
        <p>Change or clear the search.</p>
      </Nothing>
    );
  return (
    <Nothing title="No e-mail has been captured yet">
      <p>
        Without a mail server, e-mails are not sent but kept here: register a user, for example, or call{' '}
        <code>
          app.mail.send({'{'} to, subject, text {'}'})
        </code>
        . With <code>SMTP_URL</code>, they are sent instead.
      </p>
    </Nothing>
  );
}

/** The newest captured e-mails. The search and the page are in the address. */
export function CapturedPage() {
  const query = chosenParams(['recipient', 'after']);
  const recipient = useSearchField('recipient');
  const list = useLoaded<CapturedMailItem[]>(hrefOf('/mails/captured', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title="Captured e-mails" intro="Sent by the app in development, newest first. They are kept for a week.">
      <div class="mails-search" role="search">
        <label>
          Recipient <input {...recipient} maxlength={254} placeholder="Any address" />
        </label>
      </div>
      <Listing from={list} label="Captured e-mails" columns={COLUMNS} empty={<NoMails isFiltered={query.size > 0} />} />
    </Page>
  );
}

/** A captured e-mail. */
export function CapturedMailPage({ id }: { id: string }) {
  const path = `/mails/captured/${encodeURIComponent(id)}`;
  const loaded = useLoaded<CapturedMail>(path);
  return (
    <Page title={loaded.data?.subject ?? 'Captured e-mail'} back={{ href: CAPTURED, label: 'Captured e-mails' }}>
      <Loaded from={loaded}>
        {(mail) => (
          <>
            <Facts
              of={[
                ['Recipient', mail.to],
                ['Kind', <Kind kind={mail.kind} />],
                ['Captured', <Time value={mail.createdAt} />],
              ]}
            />
            <MailPreview mail={mail} path={path} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
