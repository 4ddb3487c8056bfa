import {
  ActionButton,
  call,
  DataTable,
  html,
  Loaded,
  Nothing,
  Page,
  place,
  RecordLink,
  Section,
  Status,
  setParams,
  Time,
  useLoaded,
  userResource,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { durationText, Meter, numberText } from './format.js';

const POLL_MS = 5000;
const KINDS = { 'sign-in': 'Sign-in', password: 'Confirmation by password', code: 'Codes' };

const windowText = (ms) => (ms < 1000 ? `${ms} ms` : durationText(Math.round(ms / 1000)));
const ruleText = ({ limit, windowMs }) => `${numberText(limit)} in ${windowText(windowMs)}`;

const RULE_COLUMNS = [
  { name: 'name', label: 'Limit', render: ({ name }) => name },
  { name: 'rule', label: 'Each client may send', render: ({ rule }) => rule },
  {
    name: 'setting',
    label: 'Set by',
    render: ({ setting }) =>
      setting.startsWith('settings.') ? html`<code class="operations-commit">${setting}</code>` : setting,
  },
  { name: 'about', label: 'Applies to', render: ({ about }) => about },
];

/** The configured limits as rows of a table. */
function rowsOf({ global: all, auth, authRoutes, routes, others, lockout }) {
  const off = 'no limit';
  const authAbout =
    authRoutes.length === 0
      ? 'no route'
      : html`<details><summary>${authRoutes.length} routes, each on its own</summary><ul class="operations-routes">${authRoutes.map((route) => html`<li key=${route}><code>${route}</code></li>`)}</ul></details>`;
  return [
    {
      id: 'all',
      name: 'Global',
      rule: all === null ? off : ruleText(all),
      setting: 'settings.rateLimit.global',
      about: 'all routes together',
    },
    {
      id: 'auth',
      name: 'Sign-in',
      rule: auth === null ? off : ruleText(auth),
      setting: 'settings.rateLimit.auth',
      about: authAbout,
    },
    ...routes.map((route) => ({
      id: route.route,
      name: html`<code>${route.route}</code>`,
      rule: ruleText(route),
      setting: 'the route',
      about: 'this route',
    })),
    ...others.map((other) => ({
      id: other.name,
      name: other.name,
      rule: ruleText(other),
      setting: 'the feature',
      about: 'what the feature counts',
    })),
    ...(lockout === null
      ? []
      : [
          {
            id: 'lockout',
            name: 'Failed sign-ins',
            rule: `${lockout.maxAttempts} failures in ${lockout.windowMinutes} min, then locked for ${lockout.lockMinutes} min`,
            setting: 'settings.auth.lockout',
            about: 'sign-ins of one e-mail address, and confirmations of one user',
          },
        ]),
  ];
}

function Rules({ rules }) {
  return html`<${Section} title="Configured limits">
    ${
      !rules.isEnabled &&
      html`<p class="banner warn" role="status"><span>Rate limits are off: <code>settings.rateLimit.enabled</code> is false, or this is a test. Lockouts apply.</span></p>`
    }
    ${
      rules.isEnabled &&
      !rules.areLoopbackClientsLimited &&
      html`<p class="banner warn" role="status"><span>Clients on this machine have no rate limit, because <code>LOOPBACK_RATE_LIMITS</code> is off.</span></p>`
    }
    <${DataTable} label="Configured limits" rows=${rowsOf(rules)} columns=${RULE_COLUMNS} />
  <//>`;
}

function ClearClient({ row: { name, label, windowMs, client }, onDone }) {
  const clear = async () => {
    await call('/operations/limits/clients/clear', { method: 'POST', body: { name, windowMs, client } });
    await onDone();
  };
  return html`<${ActionButton}
    run=${clear}
    label=${`Clear ${label} for ${client}`}
    confirm=${{ title: `Let ${client} send requests again?`, text: `Its count for "${label}" is deleted. All processes know that within 10 seconds.`, action: 'Clear' }}
    done="The count is cleared"
    >Clear<//
  >`;
}

const clientColumns = (onDone) => [
  { name: 'client', label: 'Client', render: ({ client }) => html`<code>${client}</code>` },
  { name: 'limit', label: 'Limit', render: ({ label }) => html`<span class="operations-route">${label}</span>` },
  {
    name: 'count',
    label: 'Requests',
    render: ({ count, limit, isLimited }) =>
      html`<${Meter} value=${count} max=${limit} text=${`${numberText(count)} of ${numberText(limit)}`} isHigh=${isLimited} />`,
  },
  {
    name: 'state',
    label: 'Status',
    render: ({ isLimited }) =>
      isLimited ? html`<${Status} kind="bad">limited<//>` : html`<${Status} kind="good">within<//>`,
  },
  { name: 'left', label: 'Window ends in', isNumber: true, render: ({ leftMs }) => windowText(Math.max(0, leftMs)) },
  { name: 'actions', label: '', isNumber: true, render: (row) => html`<${ClearClient} row=${row} onDone=${onDone} />` },
];

const keyOfClient = ({ name, windowMs, client }) => `${name} ${windowMs} ${client}`;

function Clients({ from }) {
  return html`<${Section} title="Active clients">
    <${Loaded} from=${from}>
      ${({ clients, counted, limited, isCut }) =>
        clients.length === 0
          ? html`<${Nothing} title="No client is counted">
              <p>Each request counts for its client until the window of the limit ends. Clients near or above their limit appear here, the busiest first.</p>
            <//>`
          : html`<p class="soft part-text operations-lead">
                ${limited === 0 ? 'No client is limited.' : `${numberText(limited)} counts are above their limit.`}
                ${isCut && ` Redis has more than are shown: of the ${numberText(counted)} that were read, these are the busiest.`}
              </p>
              <${DataTable} label="Counted clients" rows=${clients} columns=${clientColumns(from.reload)} keyOf=${keyOfClient} />`}
    <//>
  <//>`;
}

function LockState({ lockedUntil }) {
  return lockedUntil === null
    ? html`<${Status} kind="neutral">not locked<//>`
    : html`<${Status} kind="bad">locked, ends <${Time} value=${lockedUntil} /><//>`;
}

const lockColumns = (onDone) => [
  {
    name: 'id',
    label: 'Hash of the account',
    render: ({ id, kind }) => html`${kind && html`${KINDS[kind]} `}<code title=${id}>${id.slice(0, 12)}…</code>`,
  },
  {
    name: 'failures',
    label: 'Failed sign-ins',
    isNumber: true,
    render: ({ failures, lockedUntil }) => (lockedUntil !== null && failures === 0 ? '–' : numberText(failures)),
  },
  { name: 'state', label: 'Status', render: (row) => html`<${LockState} ...${row} />` },
  {
    name: 'actions',
    label: '',
    isNumber: true,
    render: ({ id }) => html`<${ActionButton}
      run=${async () => {
        await call(`/operations/limits/lockouts/${id}/clear`, { method: 'POST' });
        await onDone();
      }}
      label=${`Unlock ${id.slice(0, 12)}`}
      confirm=${{ title: 'Unlock this account?', text: 'Its failed sign-ins are cleared, so it can sign in again at once. An attacker who guesses its password can continue, too.', action: 'Unlock' }}
      done="The account can sign in again"
      >Unlock<//
    >`,
  },
];

function Lockouts({ from }) {
  return html`<${Section} title="Failed sign-ins">
    <${Loaded} from=${from}>
      ${({ lockouts, isCut }) =>
        lockouts.length === 0
          ? html`<${Nothing} title="No failed sign-in">
              <p>Wrong passwords and codes are counted for each account, and lock it after too many. Redis has only hashes of the accounts: search for an e-mail address to see its state.</p>
            <//>`
          : html`<p class="soft part-text operations-lead">
                Redis has only hashes of the accounts. Search for an e-mail address or a user above to see which one it is.${isCut && ' There are more than are shown.'}
              </p>
              <${DataTable} label="Failed sign-ins" rows=${lockouts} columns=${lockColumns(from.reload)} />`}
    <//>
  <//>`;
}

/** The result of a search for an account. */
function Account({ q, user, lockouts, reload }) {
  const users = userResource();
  const unlock = async () => {
    await call(`/operations/limits/accounts/${user}/unlock`, { method: 'POST' });
    await reload();
  };
  return html`<div class="card">
    <div class="operations-row-head">
      <span>${user && users ? html`<${RecordLink} resource=${users.name} id=${user} />` : html`No account has ${q}.`}</span>
      ${user && lockouts.length > 0 && html`<${ActionButton} kind="primary" run=${unlock} done="The account can sign in again">Unlock<//>`}
    </div>
    ${
      lockouts.length === 0
        ? html`<p class="soft">No failed attempts, no lock.</p>`
        : html`<ul class="operations-findings">
            ${lockouts.map(
              ({ id, kind, failures, lockedUntil }) => html`<li key=${id}>
                <${LockState} lockedUntil=${lockedUntil} /><span>${KINDS[kind]}${failures > 0 && `: ${failures} failed ${failures === 1 ? 'attempt' : 'attempts'}`}</span>
              </li>`,
            )}
          </ul>`
    }
  </div>`;
}

function Found({ q, from, onChange }) {
  const reload = async () => {
    await Promise.all([from.reload(), onChange()]);
  };
  return html`<${Loaded} from=${from}>
    ${({ kind, client, counts, user, lockouts }) => {
      const account =
        kind === 'account' && html`<${Account} q=${q} user=${user} lockouts=${lockouts} reload=${reload} />`;
      if (counts.length === 0 && account) return account;
      if (counts.length === 0) return html`<p class="card">No request of <code>${client}</code> is counted now.</p>`;
      return html`${account}<${DataTable} label=${`Counts of ${client ?? q}`} rows=${counts} columns=${clientColumns(reload)} keyOf=${keyOfClient} />`;
    }}
  <//>`;
}

/** A search for one client or account. The text is in the address. */
function Search({ onChange }) {
  const q = place.value.params.get('q') ?? '';
  const [text, setText] = useState(q);
  const found = useLoaded(q === '' ? undefined : `/operations/limits/lookup?${new URLSearchParams({ q })}`);
  const submit = (event) => {
    event.preventDefault();
    setParams({ q: text.trim() });
  };
  return html`<${Section} title="Look up a client or an account">
    <form class="operations-search" role="search" onSubmit=${submit}>
      <label>IP address, e-mail address or id of a user
        <input value=${text} maxlength="320" autocomplete="off" spellcheck=${false} onInput=${(event) => setText(event.target.value)} />
      </label>
      <button type="submit" class="primary">Look up</button>
    </form>
    ${q !== '' && html`<${Found} q=${q} from=${found} onChange=${onChange} />`}
  <//>`;
}

/** Rate limits and lockouts: the rules, and the clients and accounts that they concern now. */
export function LimitsPage() {
  const rules = useLoaded('/operations/limits');
  const clients = useLoaded('/operations/limits/clients', { everyMs: POLL_MS });
  const lockouts = useLoaded('/operations/limits/lockouts', { everyMs: POLL_MS });
  const reload = () => Promise.all([clients.reload(), lockouts.reload()]);
  return html`<${Page} title="Limits and locks" intro="How many requests clients may send, and which clients and accounts are refused now.">
    <${Search} key=${place.value.params.get('q')} onChange=${reload} />
    <${Clients} from=${clients} />
    <${Lockouts} from=${lockouts} />
    <${Loaded} from=${rules}>${(data) => html`<${Rules} rules=${data} />`}<//>
  <//>`;
}
