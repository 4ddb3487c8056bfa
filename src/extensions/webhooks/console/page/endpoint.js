import {
  ActionButton,
  Choice,
  Code,
  call,
  Facts,
  html,
  Loaded,
  navigate,
  Page,
  place,
  Section,
  Time,
  useLoaded,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { EndpointDeliveries } from './deliveries.js';
import { showSecret } from './endpoint-form.js';
import { Recovery } from './recovery.js';
import {
  chosenRange,
  DeliveryChart,
  DeliveryState,
  EndpointState,
  EventNames,
  HOME,
  Owner,
  outcomeText,
  RangeChoice,
  reasonText,
  summarize,
} from './states.js';

const REFRESH_MS = 5000;
const ONLY_OWNER = ['password_reset', 'key_ended'];

/** Why the endpoint gets nothing at the moment. */
function Obstacles({ endpoint: { state, disabledReason, isOwnerActive, consecutiveFailures, lastError } }) {
  if (!isOwnerActive)
    return html`<p class="banner warn">The account of the owner is not active. Deliveries wait until it is, or until they are too old.</p>`;
  if (state === 'disabled')
    return html`<p class="banner bad">The endpoint is disabled: ${reasonText(disabledReason)}. Deliveries wait until it is enabled, or until they are too old.</p>`;
  if (state === 'retrying')
    return html`<p class="banner warn">The last attempt failed${lastError === null ? '' : `: ${lastError}`}. Deliveries are tried again as their schedule says.</p>`;
  if (state === 'failing')
    return html`<p class="banner warn">${consecutiveFailures} ${consecutiveFailures === 1 ? 'delivery' : 'deliveries'} failed in a row${lastError === null ? '' : `, the last one with: ${lastError}`}.</p>`;
  return null;
}

function EndpointFacts({ endpoint }) {
  const { owner, state, events, scope, signing, publicKey, ordered, rateLimit, slow, waiting, nextAttemptAt } =
    endpoint;
  const { lastSuccessAt, lastFailureAt, createdAt, updatedAt, oldSecretUntil, apiKeyId, scopes } = endpoint;
  return html`<${Facts} of=${[
    ['Status', html`<${EndpointState} state=${state} />`],
    ['Owner', html`<${Owner} id=${owner} />`],
    ['Events', html`<${EventNames} names=${events} />`],
    ['Records', scope === 'global' ? 'of all users' : 'that the owner may read'],
    ['Last success', lastSuccessAt ? html`<${Time} value=${lastSuccessAt} />` : 'never'],
    ['Last failure', lastFailureAt ? html`<${Time} value=${lastFailureAt} />` : 'never'],
    ['Waiting deliveries', waiting >= 10_000 ? 'more than 10,000' : waiting.toLocaleString('en')],
    ['Next attempt', nextAttemptAt && html`<${Time} value=${nextAttemptAt} />`],
    [
      'Sending',
      [
        ordered && 'in order',
        rateLimit && `at most ${rateLimit.limit} requests in ${rateLimit.windowSeconds} s`,
        slow && 'in the slow queue',
      ]
        .filter(Boolean)
        .join(', ') || 'no limit',
    ],
    ['Signature', signing === 'v1a' ? 'secret and public key' : 'secret'],
    ['Public key', publicKey && html`<code>${publicKey}</code>`],
    ['The old secret also signs until', oldSecretUntil && html`<${Time} value=${oldSecretUntil} />`],
    ['API key', apiKeyId && html`<code>${apiKeyId}</code>`],
    ['Scopes of the key', scopes?.join(', ')],
    ['Created', html`<${Time} value=${createdAt} />`],
    ['Changed', updatedAt !== createdAt && html`<${Time} value=${updatedAt} />`],
    ['Id', html`<code>${endpoint.id}</code>`],
  ].map(([name, value]) => [name, value || undefined])} />`;
}

function TestResult({ delivery }) {
  return html`<p class=${`banner ${delivery.status === 'failed' ? 'bad' : 'webhooks-result'}`} role="status">
    <${DeliveryState} delivery=${delivery} />
    <span>The test: ${outcomeText(delivery)}</span>
    <a href=${`${HOME}/deliveries/${delivery.id}`}>Open the delivery</a>
  </p>`;
}

/** Code that verifies the signatures of an endpoint, or of any endpoint. @param {{ endpoint?: string }} props its id */
export function Snippets({ endpoint }) {
  const loaded = useLoaded(
    `/webhooks/snippets${endpoint === undefined ? '' : `?endpoint=${encodeURIComponent(endpoint)}`}`,
  );
  const [chosen, setChosen] = useState();
  return html`<${Loaded} from=${loaded}>
    ${(snippets) => {
      const language = chosen ?? Object.keys(snippets)[0];
      return html`<${Choice} label="Language" options=${Object.keys(snippets).map((name) => [name, name])} value=${language} onChange=${setChosen} />
        <${Code} text=${snippets[language]} label=${`Code for ${language}`} />`;
    }}
  <//>`;
}

function EndpointActions({ endpoint, path, onChanged, onTested }) {
  const { id, enabled, disabledReason, isOwnerActive } = endpoint;
  const change = (method, rest, body) => call(path + rest, { method, body });
  const test = async () => onTested((await change('POST', '/test')).data);
  const setEnabled = (value) => async () => {
    await change('PATCH', '', { enabled: value });
    await onChanged();
  };
  const rotate = async () => {
    const { data } = await change('POST', '/rotate-secret', {});
    await showSecret(data);
    await onChanged();
  };
  const remove = async () => {
    await change('DELETE', '');
    navigate(`${HOME}/endpoints`);
  };
  return html`
    <${ActionButton} kind="primary" run=${test} disabled=${!enabled || !isOwnerActive}>Send a test<//>
    <a class="button" href=${`${HOME}/endpoints/${id}/edit`}>Edit</a>
    ${
      enabled
        ? html`<${ActionButton} run=${setEnabled(false)} done="Disabled" disabled=${!isOwnerActive} confirm=${{ title: 'Disable this endpoint?', text: 'Nothing is sent to it until it is enabled again. Deliveries wait.', action: 'Disable' }}>Disable<//>`
        : html`<${ActionButton} run=${setEnabled(true)} done="Enabled" disabled=${!isOwnerActive || ONLY_OWNER.includes(disabledReason)}>Enable<//>`
    }
    <${ActionButton} run=${rotate} disabled=${!isOwnerActive} confirm=${{ title: 'Replace the secret?', text: 'The new secret is shown once. For a grace period, messages are signed with both.', action: 'Replace' }}>Rotate secret<//>
    <${ActionButton} kind="danger quiet" run=${remove} done="Deleted" confirm=${{ title: 'Delete this endpoint?', text: 'Its deliveries are deleted, too. This cannot be undone.', action: 'Delete', isDangerous: true }}>Delete<//>
  `;
}

/** An endpoint: its state, its deliveries, and what can be done with it. */
export function EndpointPage({ id }) {
  const path = `/webhooks/endpoints/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, { everyMs: REFRESH_MS });
  const chart = useLoaded(`${path}/chart?range=${chosenRange()}`, { everyMs: REFRESH_MS });
  const [version, setVersion] = useState(0);
  const [test, setTest] = useState();
  const { data } = loaded;
  const refresh = async () => {
    setVersion((before) => before + 1);
    await Promise.all([loaded.reload(), chart.reload()]);
  };
  const parsed = data && URL.canParse(data.url) ? new URL(data.url) : undefined;
  const { total, rate } = chart.data ? summarize(chart.data) : {};
  return html`<${Page}
    title=${data?.description ?? parsed?.host ?? 'Endpoint'}
    intro=${data && html`<code class="webhooks-address">${data.url}</code>`}
    back=${{ href: `${HOME}/endpoints`, label: 'Endpoints' }}
    actions=${
      data &&
      html`<${EndpointActions} endpoint=${data} path=${path} onChanged=${refresh} onTested=${(delivery) => {
        setTest(delivery);
        return refresh();
      }} />`
    }
  >
    <${Loaded} from=${loaded}>
      ${(endpoint) => html`
        <${Obstacles} endpoint=${endpoint} />
        ${test && html`<${TestResult} delivery=${test} />`}
        <${Section} title="Facts"><${EndpointFacts} endpoint=${endpoint} /><//>
        <${Section}
          title=${total > 0 && rate !== null ? `Deliveries by result: ${rate}% succeeded` : 'Deliveries by result'}
          actions=${html`<${RangeChoice} />`}
        >
          <${Loaded} from=${chart}>${(loadedChart) => html`<${DeliveryChart} chart=${loadedChart} />`}<//>
        <//>
        <${Section}
          title="Deliveries"
          actions=${html`<a class="button" href=${`${HOME}/explain?endpoint=${id}`}>Explain a missing event</a><${ActionButton} run=${refresh}>Refresh<//>`}
        >
          <${EndpointDeliveries} key=${version} endpoint=${endpoint} />
        <//>
        <${Section} title="Recover after an outage">
          <${Recovery} endpoint=${endpoint} id=${place.value.params.get('recovery') ?? endpoint.recovery} />
        <//>
        <${Section} title="Verify signatures"><${Snippets} endpoint=${id} /><//>
      `}
    <//>
  <//>`;
}
