import { copyText, Facts, hrefOf, html, IconButton, Page, place, Section } from 'belfry/console';
import { policyInWords, rateText } from '../policy.js';
import { Runner } from '../runner/runner.js';
import { mediaTypes, simplify } from './document.js';
import { exampleError, exampleOf, limitsOf, typeText } from './example.js';
import { Nested, SchemaTree } from './schema-tree.js';

const PLACES = [
  ['path', 'Path'],
  ['query', 'Query'],
  ['header', 'Headers'],
];
/** From this number of parameters on, a group of them is folded. */
const FOLDED_FROM = 12;

/** The method of an operation, in its colour. */
export const Method = ({ method }) =>
  html`<span class=${`reference-method ${method.toLowerCase()}`}>${method === 'DELETE' ? 'DEL' : method}</span>`;

/** The path of an operation, whose parameters stand out. */
function PathText({ path }) {
  return html`<code class="reference-path">
    ${path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? html`<b key=${part}>${part}</b>` : part))}
  </code>`;
}

/** A description. Paragraphs are kept; nothing in it is markup. */
export function Paragraphs({ text }) {
  return text
    .split('\n\n')
    .filter((one) => one.trim() !== '')
    .map(
      (one) =>
        html`<p key=${one} class="reference-text">${one.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}</p>`,
    );
}

/** The action of a resource that an operation performs, for the meaning of `owner`. */
const actionOf = ({ id }) => /^(create|list)(?=[A-Z])/.exec(id)?.[1];

function Access({ operation, data: { limits, document } }) {
  const { raw, policy, parameters } = operation;
  const schemes = [...new Set((raw.security ?? []).flatMap(Object.keys))];
  const labels = { session: 'a session', apiKey: 'an API key' };
  const has = (name) => parameters.some((one) => one.in === 'header' && one.name === name);
  const own = raw['x-rate-limit'];
  const acceptsKeys = document.components?.securitySchemes?.apiKey !== undefined;
  const scope = raw['x-required-scope'];
  return html`<${Section} title="Access">
    <${Facts}
      of=${[
        ['Callers', policyInWords(policy, actionOf(operation))],
        ['Policy', html`<code>${policy}</code>`],
        ['Sign-in', schemes.length === 0 ? 'not needed' : schemes.map((name) => labels[name] ?? name).join(' or ')],
        [
          'Scope of an API key',
          acceptsKeys && schemes.length > 0
            ? scope === undefined
              ? 'API keys are refused'
              : html`<code>${scope}</code>`
            : undefined,
        ],
        ['Recent sign-in', raw['x-recent-sign-in'] ? 'required' : undefined],
        ['Rate limit', own ? rateText(own) : limits.all ? `${rateText(limits.all)}, all routes together` : 'none'],
        ['Repeating it safely', has('Idempotency-Key') ? html`send an <code>Idempotency-Key</code>` : undefined],
        ['Detecting conflicts', has('If-Match') ? html`send the version as <code>If-Match</code>` : undefined],
      ]}
    />
  <//>`;
}

function ParameterRow({ parameter, document }) {
  const { schema, alternatives } = simplify(parameter.schema ?? {}, document);
  const items = schema.type === 'array' && schema.items ? simplify(schema.items, document).schema : undefined;
  const values = schema.enum ?? items?.enum;
  const type = items === undefined ? typeText(schema, alternatives) : `list of ${typeText(items)}, separated by commas`;
  return html`<li class="reference-member">
    <p class="reference-member-head">
      <code class="reference-name">${parameter.name}</code><span class="reference-type">${type}</span>
      ${parameter.required && html`<span class="reference-required">required</span>`}
      ${limitsOf(schema).map((text) => html`<span key=${text} class="reference-limit">${text}</span>`)}
    </p>
    ${parameter.description && html`<p class="soft">${parameter.description}</p>`}
    ${
      values &&
      html`<span class="reference-values">${values.slice(0, 40).map((one) => html`<code key=${one}>${String(one)}</code>`)}</span>`
    }
  </li>`;
}

function ParameterList({ list, document, label }) {
  const rows = html`<ul class="reference-members">
    ${list.map((parameter) => html`<${ParameterRow} key=${parameter.name} parameter=${parameter} document=${document} />`)}
  </ul>`;
  if (list.length < FOLDED_FROM) return html`<h3>${label}</h3>${rows}`;
  return html`<details class="reference-nested"><summary>${label}: ${list.length} parameters</summary>${rows}</details>`;
}

function Parameters({ operation, document }) {
  const groups = PLACES.map(([place_, label]) => [label, operation.parameters.filter((one) => one.in === place_)]);
  if (operation.parameters.length === 0) return null;
  return html`<${Section} title="Parameters">
    ${groups
      .filter(([, list]) => list.length > 0)
      .map(([label, list]) => html`<${ParameterList} key=${label} label=${label} list=${list} document=${document} />`)}
  <//>`;
}

function Body({ operation: { body }, document }) {
  if (body === undefined) return null;
  return html`<${Section} title="Body">
    ${body.description && html`<p class="soft">${body.description}</p>`}
    ${!body.required && html`<p class="soft">The body can be left out.</p>`}
    ${mediaTypes(body).map(
      (type, index) => html`<div key=${type}>
        <h3><code>${type}</code></h3>
        ${body.content[type].schema?.description && html`<p class="soft">${body.content[type].schema.description}</p>`}
        ${
          index === 0 || type.startsWith('multipart')
            ? html`<${SchemaTree} schema=${body.content[type].schema ?? {}} document=${document} direction="input" />`
            : html`<p class="soft">The same content in another format.</p>`
        }
      </div>`,
    )}
  <//>`;
}

const statusKind = (status) => (status.startsWith('2') ? 'good' : status.startsWith('3') ? 'neutral' : 'warn');

/** An example of a body, as text. */
const Example = ({ label, value }) =>
  html`<pre class="reference-raw" tabindex="0" role="region" aria-label=${label}><code>${JSON.stringify(value, null, 2)}</code></pre>`;

function ErrorResponse({ status, response: { description = '' }, codes }) {
  return html`<${Paragraphs} text=${description} />
    <${Example} label=${`Example of ${status}`} value=${exampleError(codes[0], messageOf(description))} />`;
}

function SuccessResponse({ status, schema, document }) {
  return html`<${SchemaTree} schema=${schema} document=${document} direction="output" />
    <${Example} label=${`Example of ${status}`} value=${exampleOf(schema, document, 'output')} />`;
}

/** The codes of an error response; undefined for other responses. */
function codesOf(schema, document) {
  const { error } = simplify(schema, document).schema.properties ?? {};
  return error && simplify(error, document).schema.properties?.code?.enum;
}

function ResponsePart({ status, response, document }) {
  const [type] = mediaTypes(response);
  const schema = response.content?.[type]?.schema;
  const codes = schema && codesOf(schema, document);
  const label = html`<span class=${`status ${statusKind(status)}`}>${status}</span>
    <span class="reference-summary">${codes && codes.length < 5 ? codes.join(', ') : response.description}</span>`;
  return html`<${Nested} label=${label}>
    ${() => html`
      ${codes && html`<${ErrorResponse} status=${status} response=${response} codes=${codes} />`}
      ${!codes && schema && html`<${SuccessResponse} status=${status} schema=${schema} document=${document} />`}
      ${type !== undefined && type !== 'application/json' && html`<p class="soft">The body has the type <code>${type}</code>.</p>`}
      ${response.headers && html`<p class="soft">Headers: ${Object.keys(response.headers).join(', ')}</p>`}
    `}
  <//>`;
}

/** The message of the first code in the description of an error response. */
const messageOf = (description = '') => /^`\w+`: (.*?)\.( `|$)/.exec(description)?.[1] ?? description;

function Responses({ operation, document }) {
  return html`<${Section} title="Responses">
    <div class="reference-responses">
      ${Object.entries(operation.responses).map(
        ([status, response]) =>
          html`<${ResponsePart} key=${status} status=${status} response=${response} document=${document} />`,
      )}
    </div>
  <//>`;
}

/** Leads to the form, which is below the description on narrow screens. */
function showRunner() {
  const form = document.querySelector('.reference-form');
  form.scrollIntoView();
  form.querySelector('input, select, textarea, button')?.focus({ preventScroll: true });
}

/** Everything about one operation, and the form that sends it. */
export function OperationPage({ operation, data }) {
  const { document, canStartSession } = data;
  const { method, path, summary, description, isDeprecated } = operation;
  return html`<${Page}
    title=${summary}
    actions=${html`<button type="button" class="reference-jump" onClick=${showRunner}>Try it</button>`}
    back=${{ href: hrefOf('/console/reference', place.value.params), label: 'All routes' }}
    intro=${html`<span class="reference-route">
      <${Method} method=${method} /><${PathText} path=${path} />
      <${IconButton} icon="copy" label="Copy the path" onClick=${() => copyText(path)} />
      <span class="soft">operation <code>${operation.id}</code></span>
    </span>`}
  >
    ${isDeprecated && html`<p class="banner warn">This route is deprecated.</p>`}
    <div class="reference-columns">
      <div class="reference-facts">
        <${Paragraphs} text=${description} />
        <${Access} operation=${operation} data=${data} />
        <${Parameters} operation=${operation} document=${document} />
        <${Body} operation=${operation} document=${document} />
        <${Responses} operation=${operation} document=${document} />
      </div>
      <${Runner} operation=${operation} document=${document} canStartSession=${canStartSession} />
    </div>
  <//>`;
}
