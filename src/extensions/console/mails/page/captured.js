import {
  chosenParams,
  Facts,
  hrefOf,
  html,
  Listing,
  Loaded,
  Nothing,
  Page,
  Time,
  useLoaded,
  useSearchField,
} from 'belfry/console';
import { MailPreview, viewParams } from './preview.js';

const CAPTURED = '/console/mails/captured';
/** The interval in ms at which the list is read, because e-mails are captured at any time. */
const READ_EVERY_MS = 2000;

/** The kind of an e-mail; code of the project sends e-mails without one. */
const Kind = ({ kind }) =>
  kind === null ? html`<span class="soft mails-kind">by your code</span>` : html`<code>${kind}</code>`;

const COLUMNS = [
  {
    name: 'subject',
    label: 'Subject',
    render: ({ id, subject }) => html`<a href=${hrefOf(`${CAPTURED}/${id}`, viewParams())}>${subject}</a>`,
  },
  { name: 'to', label: 'Recipient', render: ({ to }) => to },
  { name: 'kind', label: 'Kind', render: ({ kind }) => html`<${Kind} kind=${kind} />` },
  { name: 'at', label: 'Captured', render: ({ createdAt }) => html`<${Time} value=${createdAt} />` },
];

function NoMails({ isFiltered }) {
  if (isFiltered) return html`<${Nothing} title="No e-mail to this address"><p>Change or clear the search.</p><//>`;
  return html`<${Nothing} title="No e-mail has been captured yet">
    <p>
      Without a mail server, e-mails are not sent but kept here: register a user, for example, or call
      ${' '}<code>app.mail.send({ to, subject, text })</code>. With <code>SMTP_URL</code>, they are sent instead.
    </p>
  <//>`;
}

/** The newest captured e-mails. The search and the page are in the address. */
export function CapturedPage() {
  const query = chosenParams(['recipient', 'after']);
  const recipient = useSearchField('recipient');
  const list = useLoaded(hrefOf('/mails/captured', query), { everyMs: READ_EVERY_MS });
  return html`<${Page} title="Captured e-mails" intro="Sent by the app in development, newest first. They are kept for a week.">
    <div class="mails-search" role="search">
      <label>Recipient <input ...${recipient} maxlength="254" placeholder="Any address" /></label>
    </div>
    <${Listing} from=${list} label="Captured e-mails" columns=${COLUMNS} empty=${html`<${NoMails} isFiltered=${query.size > 0} />`} />
  <//>`;
}

/** A captured e-mail. */
export function CapturedMailPage({ id }) {
  const path = `/mails/captured/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path);
  const { data: mail } = loaded;
  return html`<${Page} title=${mail?.subject ?? 'Captured e-mail'} back=${{ href: CAPTURED, label: 'Captured e-mails' }}>
    <${Loaded} from=${loaded}>
      ${() => html`<${Facts}
          of=${[
            ['Recipient', mail.to],
            ['Kind', html`<${Kind} kind=${mail.kind} />`],
            ['Captured', html`<${Time} value=${mail.createdAt} />`],
          ]}
        />
        <${MailPreview} mail=${mail} path=${path} />`}
    <//>
  <//>`;
}
