import { Icon } from '../../../kit/icons.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo, Labels, ResourceInfo, StoredRecord } from '../app-info.ts';
import { FileView } from '../editors/file.tsx';
import { isStoredFile } from '../editors/values.ts';
import { isSecret, plainText, Value } from '../format.tsx';
import { columnsOf, dataHref, fieldValue, labelOf, nameOf } from '../schema.ts';
import { type RecordMeta, useRecord } from './record-data.ts';
import { RecordHeading } from './record-parts.tsx';

function FieldValue({ field, value, labels }: { field: FieldInfo; value: unknown; labels: Labels }) {
  if (field.type === 'file' && isStoredFile(value)) return <FileView file={value} />;
  const isLong =
    (typeof value === 'object' &&
      value !== null &&
      !isSecret(value) &&
      field.type !== 'ref' &&
      field.type !== 'refs') ||
    String(value).length > 80;
  return isLong ? <pre>{plainText(value)}</pre> : <Value field={field} value={value} labels={labels} />;
}

/** A modifier of the declaration as it is written there: `hidden` as `hidden()`. */
const ruleText = (rule: string) => (/^\w+$/.test(rule) && rule !== 'password' ? `${rule}()` : rule);

/** Why a viewer does not get a record. */
function Refused({ resource, meta }: { resource: ResourceInfo; meta: RecordMeta }) {
  return (
    <div class="nothing">
      <h2>{texts.record.viewer.refused}</h2>
      <p>{meta.why}</p>
      <p>
        <a href={dataHref([resource.name])}>{texts.record.viewer.showVisible(nameOf(resource, 2))}</a>
      </p>
    </div>
  );
}

/** The fields that a viewer gets, and the rules that hide the others. */
function ViewedFields({ resource, record, meta }: { resource: ResourceInfo; record: StoredRecord; meta: RecordMeta }) {
  const rules = new Map(meta.hidden.map(({ field, rule }) => [field, ruleText(rule)]));
  const columns = columnsOf(resource).filter(({ name }) => name !== 'deletedAt');
  return (
    <dl class="viewer-fields">
      {columns.map((field) => {
        const rule = rules.get(field.name);
        const isHidden = rule !== undefined && !Object.hasOwn(record, field.name);
        return (
          <div key={field.name} class={isHidden ? 'hidden-field' : ''}>
            <dt>{field.label}</dt>
            <dd>
              {isHidden ? (
                <span class="rule">
                  <Icon name="lock" size={12} />
                  {texts.record.viewer.hiddenBy(rule)}
                </span>
              ) : (
                <>
                  <FieldValue field={field} value={fieldValue(record, field.name)} labels={meta.labels} />
                  {rule && <p class="rule">{rule}</p>}
                </>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** A record exactly as a viewer gets it from the API, with the rules that hide fields. */
export function ViewerRecord({ resource, id }: { resource: ResourceInfo; id: string }) {
  // Null: the viewer does not get the record.
  const { version, error } = useRecord<StoredRecord | null>(resource, id, () => false);
  const isLoading = version === undefined && error === undefined;
  return (
    <main id="main" class="page record-page viewer-page" aria-busy={isLoading ? 'true' : undefined}>
      <RecordHeading
        resource={resource}
        title={version?.record ? labelOf(version.record, version.meta.titles) : `${resource.label} ${id}`}
      />
      {error && (
        <p class="banner bad" role="alert">
          {error.message} {Object.values(error.details).join(' · ')}
        </p>
      )}
      {version?.record === null && <Refused resource={resource} meta={version.meta} />}
      {version?.record && (
        <>
          <p class="soft">
            {version.meta.why}.{version.meta.canList === false && ` ${texts.record.viewer.notInLists}`}
          </p>
          <ViewedFields resource={resource} record={version.record} meta={version.meta} />
        </>
      )}
    </main>
  );
}
