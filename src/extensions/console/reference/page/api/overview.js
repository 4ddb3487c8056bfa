import { Code, Facts, html, Icon, Page, Section } from 'belfry/console';
import { rateText } from '../policy.js';
import { CallerButton } from '../runner/caller-dialog.js';
import { history } from '../runner/history.js';
import { Method, Paragraphs } from './operation.js';
import { Nested, SchemaTree } from './schema-tree.js';
import { operationHref } from './side.js';

const ERROR = `{
  "error": {
    "code": "VALIDATION_ERROR",
    "message": "The request is invalid",
    "details": { "title": "Is required" },
    "requestId": "01JB7Y0V4T5QYJ"
  }
}`;

function saveDocument(document_) {
  const blob = new Blob([JSON.stringify(document_, null, 2)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = 'openapi.json';
  link.click();
  URL.revokeObjectURL(link.href);
}

function SentRequests({ data: { byId } }) {
  const entries = history.value.filter(({ operation }) => byId.has(operation));
  if (entries.length === 0)
    return html`<p class="soft">Open a route and choose “Send request”. The last 20 requests of this browser tab appear here, without secret values.</p>`;
  return html`<ul class="reference-history">
    ${entries.map(
      (entry) => html`<li key=${entry.at}>
        <${Method} method=${entry.method} /><a href=${operationHref(entry.operation)}><code>${entry.path}</code></a>
        <span class="soft">${entry.status || 'failed'} · ${entry.ms} ms</span>
      </li>`,
    )}
  </ul>`;
}

/** The events that the app sends to webhook endpoints. */
function Events({ document }) {
  return html`<${Section} title="Webhook events">
    <p class="part-text soft">Endpoints of users receive these events as signed <code>POST</code> requests.</p>
    <div class="reference-responses">
      ${Object.entries(document.webhooks).map(
        ([name, { post }]) => html`<${Nested}
          key=${name}
          label=${html`<code>${name}</code><span class="reference-summary soft">${post.summary}</span>`}
        >
          ${() => html`<${SchemaTree} schema=${post.requestBody.content['application/json'].schema} document=${document} direction="output" />`}
        <//>`,
      )}
    </div>
  <//>`;
}

/** The start of the reference: what holds for all routes. */
export function Overview({ data }) {
  const { document, limits, operations, canStartSession } = data;
  const { title, version, description } = document.info;
  const schemes = Object.entries(document.components?.securitySchemes ?? {});
  const events = Object.keys(document.webhooks ?? {});
  return html`<${Page}
    title=${`${title} reference`}
    intro="Every route of the app, generated from its declarations. Search in the sidebar, or press /."
    actions=${html`<${CallerButton} canStartSession=${canStartSession} />
      <button type="button" onClick=${() => saveDocument(document)}><${Icon} name="download" />OpenAPI</button>`}
  >
    ${description && html`<${Paragraphs} text=${description} />`}
    <${Section} title="At a glance">
      <${Facts}
        of=${[
          ['Base URL', html`<code>${`${location.origin}/api`}</code>`],
          ['Version of the API', version],
          ['Routes', operations.length],
          ['Webhook events', events.length === 0 ? undefined : events.length],
          ['Rate limit of a client', limits.all ? rateText(limits.all) : 'none'],
          ['Content type', html`<code>application/json</code>`],
        ]}
      />
    <//>
    ${
      schemes.length > 0 &&
      html`<${Section} title="Sign-in">
        <p class="part-text soft">Send the token in the header <code>Authorization: Bearer …</code></p>
        <ul class="reference-members">
          ${schemes.map(
            ([name, scheme]) => html`<li key=${name} class="reference-member">
              <p class="reference-member-head"><code class="reference-name">${name}</code><span class="reference-type">${scheme.bearerFormat}</span></p>
              <${Paragraphs} text=${scheme.description ?? ''} />
            </li>`,
          )}
        </ul>
      <//>`
    }
    <${Section} title="Errors">
      <p class="part-text soft">Every error has the same form. Clients decide by <code>code</code>; <code>requestId</code> finds the request in the log.</p>
      <${Code} text=${ERROR} label="Example of an error" />
    <//>
    <${Section} title="Requests of this browser tab"><${SentRequests} data=${data} /><//>
    ${events.length > 0 && html`<${Events} document=${document} />`}
  <//>`;
}
