import { Fragment } from 'preact';
import { Code } from '../../../kit/copy.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo, ResourceInfo, StoredRecord } from '../app-info.ts';
import { isEditable } from '../editors/locks.ts';
import { toInput } from '../editors/values.ts';
import { fieldValue } from '../schema.ts';
import { recordCommands } from '../shell-command.ts';
import type { Changes } from './record-data.ts';

const COMMANDS = [
  { action: 'read', title: texts.record.raw.read },
  { action: 'update', title: texts.record.raw.update },
  { action: 'delete', title: texts.record.raw.delete },
] as const;

interface RawRecordProps {
  resource: ResourceInfo;
  record: StoredRecord;
  draft: Changes;
}

/** Whether clients can set the field of a record, and see its value. */
function isOpenToClients(field: FieldInfo): boolean {
  const { readOnly, immutable, hidden, writeOnly, encrypted } = field;
  return isEditable(field) && !(readOnly || immutable || hidden || writeOnly || encrypted);
}

/** The value of one field, for the example of an update: of the label field if clients can set it. */
function unchangedExample(resource: ResourceInfo, record: StoredRecord): Changes {
  const fields = resource.fields.filter(isOpenToClients);
  const field = fields.find(({ name }) => name === resource.labelField) ?? fields[0];
  if (field === undefined) return {};
  return { [field.name]: toInput(field, fieldValue(record, field.name)) ?? `<${field.type}>` };
}

/** The changed values that are valid, for the example of an update. Without changes, the value of one field. */
function exampleValues({ resource, record, draft }: RawRecordProps): Changes {
  const values = resource.fields.flatMap((field) => {
    if (!Object.hasOwn(draft, field.name)) return [];
    try {
      return [[field.name, toInput(field, draft[field.name])]];
    } catch {
      return [];
    }
  });
  return values.length === 0 ? unchangedExample(resource, record) : Object.fromEntries(values);
}

/** The record as JSON, and the requests that read and change it in the app's API. */
export function RawRecord(props: RawRecordProps) {
  const { resource, record } = props;
  const commands = recordCommands(resource, record.id, exampleValues(props));
  const offered = COMMANDS.filter(({ action }) => resource.crud.includes(action));
  return (
    <div class="raw">
      <h2>{texts.record.raw.json}</h2>
      <Code text={JSON.stringify(record, null, 2)} label={texts.record.raw.recordAsJson} />
      <h2>{texts.record.raw.api}</h2>
      {offered.length === 0 && <p class="soft">{texts.record.raw.noRoutes}</p>}
      {offered.map(({ action, title }) => (
        <Fragment key={action}>
          <h3>{title}</h3>
          <Code text={commands[action]} label={title} />
        </Fragment>
      ))}
    </div>
  );
}
