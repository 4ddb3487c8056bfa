import { html } from 'htm/preact';
import { Icon } from '../../components/icons.js';
import { usePageTitle } from '../../router.js';
import { FileView } from '../editors/file.js';
import { isSecret, plainText, Time, Value } from '../format.js';
import { app, columnsOf, dataHref, fieldValue, nameOf } from '../schema.js';
import { useRecord } from './record-data.js';

function FieldValue({ field, value, labels }) {
  if (field.type === 'file' && value) return html`<${FileView} file=${value} />`;
  if (field.type === 'date' && value) return html`<${Time} value=${value} />`;
  const isLong =
    (typeof value === 'object' &&
      value !== null &&
      !isSecret(value) &&
      field.type !== 'ref' &&
      field.type !== 'refs') ||
    String(value).length > 80;
  return isLong
    ? html`<pre>${plainText(value)}</pre>`
    : html`<${Value} field=${field} value=${value} labels=${labels} />`;
}

/** A modifier of the declaration as it is written there: `hidden` as `hidden()`. */
const ruleText = (rule) => (/^\w+$/.test(rule) && rule !== 'password' ? `${rule}()` : rule);

/** Why a viewer does not get a record. */
function Refused({ resource, meta }) {
  return html`<div class="nothing">
    <h2>This viewer does not get the record</h2>
    <p>${meta.why}</p>
    <p><a href=${dataHref([resource.name])}>Show the ${nameOf(resource, 2)} that this viewer gets</a></p>
  </div>`;
}

/** A record exactly as a viewer gets it from the API, with the rules that hide fields. */
export function ViewerRecord({ resource, id }) {
  const { record, meta, error } = useRecord(resource, id, () => false);
  const rules = new Map((meta.hidden ?? []).map(({ field, rule }) => [field, ruleText(rule)]));
  const columns = columnsOf(resource).filter(({ name }) => name !== 'deletedAt');
  const isLoading = record === undefined && error === undefined;
  const title = record ? (fieldValue(record, resource.labelField) ?? id) : `${resource.label} ${id}`;
  usePageTitle(`${title} · ${resource.plural}`, app.value.name);
  return html`<main id="main" class="page record-page viewer-page" aria-busy=${isLoading ? 'true' : undefined}>
    <div class="record-heading">
      <nav aria-label="Breadcrumb"><a href=${dataHref([resource.name])}>${resource.plural}</a></nav>
      <h1 tabindex="-1">${title}</h1>
    </div>
    ${error && html`<p class="banner bad" role="alert">${error.message} ${Object.values(error.details ?? {}).join(' · ')}</p>`}
    ${record === null && html`<${Refused} resource=${resource} meta=${meta} />`}
    ${
      record &&
      html`<p class="soft">${meta.why}${meta.canList === false && '. Lists of this viewer do not contain the record'}.</p>
        <dl class="viewer-fields">
          ${columns.map(
            (
              field,
            ) => html`<div key=${field.name} class=${rules.has(field.name) && !Object.hasOwn(record, field.name) ? 'hidden-field' : ''}>
              <dt>${field.name}</dt>
              <dd>
                ${
                  rules.has(field.name) && !Object.hasOwn(record, field.name)
                    ? html`<span class="rule"><${Icon} name="lock" size=${12} />hidden by ${rules.get(field.name)}</span>`
                    : html`<${FieldValue} field=${field} value=${fieldValue(record, field.name)} labels=${meta.labels} />
                        ${rules.has(field.name) && html`<p class="rule">${rules.get(field.name)}</p>`}`
                }
              </dd>
            </div>`,
          )}
        </dl>`
    }
  </main>`;
}
