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
import { kindName, texts } from './texts.ts';
import type { CapturedMail, CapturedMailItem } from './types.ts';

const { list } = texts;

const CAPTURED = '/console/mails/captured';
/** The interval in ms at which the list is read, because e-mails are captured at any time. */
const READ_EVERY_MS = 2000;
const SEND_CALL = 'app.mail.send({ to, subject, text })';
/** The templates of e-mails that are stored under another name. */
const TEMPLATES: Readonly<Record<string, string>> = { 'privacy-export': 'data-export' };
const SERVER_SETTING = 'SMTP_URL';

/** The kind of an e-mail; code of the project sends e-mails without one. */
const Kind = ({ kind }: { kind: string | null }) =>
  kind === null ? <span class="soft mails-kind">{list.byCode}</span> : kindName(TEMPLATES[kind] ?? kind);

const COLUMNS: TableColumn<CapturedMailItem>[] = [
  {
    name: 'subject',
    label: list.subject,
    render: ({ id, subject }) => <a href={hrefOf(`${CAPTURED}/${id}`, viewParams())}>{subject}</a>,
  },
  { name: 'to', label: list.recipient, render: ({ to }) => to },
  { name: 'kind', label: list.kind, render: ({ kind }) => <Kind kind={kind} /> },
  { name: 'at', label: list.at, render: ({ createdAt }) => <Time value={createdAt} /> },
];

function NoMails({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title={list.noneFound}>
        <p>{list.noneFoundHint}</p>
      </Nothing>
    );
  return (
    <Nothing title={list.none}>
      <p>
        {list.noneHint} <code>{SEND_CALL}</code>. {list.withServer} <code>{SERVER_SETTING}</code>.
      </p>
    </Nothing>
  );
}

/** The newest captured e-mails. The search and the page are in the address. */
export function CapturedPage() {
  const query = chosenParams(['recipient', 'after']);
  const recipient = useSearchField('recipient');
  const mails = useLoaded<CapturedMailItem[]>(hrefOf('/mails/captured', query), { everyMs: READ_EVERY_MS });
  return (
    <Page title={list.title} intro={list.intro}>
      <div class="mails-search" role="search">
        <label>
          {list.recipient} <input {...recipient} maxlength={254} placeholder={list.any} />
        </label>
      </div>
      <Listing from={mails} label={list.title} columns={COLUMNS} empty={<NoMails isFiltered={query.size > 0} />} />
    </Page>
  );
}

/** A captured e-mail. */
export function CapturedMailPage({ id }: { id: string }) {
  const path = `/mails/captured/${encodeURIComponent(id)}`;
  const loaded = useLoaded<CapturedMail>(path);
  return (
    <Page title={loaded.data?.subject ?? list.single} back={{ href: CAPTURED, label: list.title }}>
      <Loaded from={loaded}>
        {(mail) => (
          <>
            <Facts
              of={[
                [list.recipient, mail.to],
                [list.kind, <Kind kind={mail.kind} />],
                [list.at, <Time value={mail.createdAt} />],
              ]}
            />
            <MailPreview mail={mail} path={path} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
