import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../../kit/dialog.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo, Labels, ResourceInfo, StoredRecord } from '../app-info.ts';
import { findLabel, JsonText, referenceId } from '../editors/values.ts';
import { isSame, isSecret, plainText } from '../format.tsx';
import { fieldValue } from '../schema.ts';
import type { Changes } from './record-data.ts';

/** Three versions of a record: as it was read, as it is stored now, and the changes of the user to `base`. */
interface Versions {
  base: StoredRecord;
  theirs: StoredRecord;
  draft: Changes;
  labels: Labels;
}

/** A value as text; references by the labels that are known. */
function textOf(field: FieldInfo, value: unknown, labels: Labels): string {
  if (value instanceof JsonText) return value.text;
  const id = field.type === 'ref' ? referenceId(value) : undefined;
  const label = findLabel(labels, field.target, id);
  return label === undefined ? plainText(value) : `${label} (${id})`;
}

/** The value of an editor, to compare it with a stored one. A JSON text that is not valid equals none. */
function comparable(value: unknown): unknown {
  if (!(value instanceof JsonText)) return value;
  try {
    return value.parse();
  } catch {
    return value;
  }
}

/** The three versions of a field that the user or another user has changed; in a conflict, both have. */
type Comparison = ReturnType<typeof compare>[number];

/** Compares three versions of each field: as it was read, as it is stored now, and as the user changed it. */
function compare(resource: ResourceInfo, { base, theirs, draft }: Versions) {
  return resource.fields.flatMap((field) => {
    const [before, now] = [fieldValue(base, field.name), fieldValue(theirs, field.name)];
    const isMine = Object.hasOwn(draft, field.name);
    const isTheirs = !isSame(before, now);
    if (!isMine && !isTheirs) return [];
    const mine = isMine ? draft[field.name] : undefined;
    const isEqual = isMine && !isSecret(now) && isSame(comparable(mine), now);
    return [{ field, before, now, mine, isMine, isTheirs, isConflict: isMine && isTheirs && !isEqual }];
  });
}

type Side = 'mine' | 'theirs';

function Choice({
  name,
  label,
  text,
  isChosen,
  onChoose,
}: {
  /** Of the field. */
  name: string;
  label: string;
  text: string;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <label class={`version ${isChosen ? 'chosen' : ''}`}>
      <span>
        <input type="radio" name={`choice-${name}`} checked={isChosen} onChange={onChoose} />
        {label}
      </span>
      <pre>{text}</pre>
    </label>
  );
}

const Version = ({ label, text, isKept = false }: { label: string; text: string; isKept?: boolean }) => (
  <div class={`version ${isKept ? 'chosen' : ''}`}>
    <span>{label}</span>
    <pre>{text}</pre>
  </div>
);

function ComparedField({
  row,
  labels,
  choice,
  onChoose,
}: {
  row: Comparison;
  labels: Labels;
  choice: Side | undefined;
  onChoose: (side: Side) => void;
}) {
  const { field, before, now, mine, isMine, isTheirs, isConflict } = row;
  const choiceOf = (side: Side, label: string, value: unknown) => (
    <Choice
      name={field.name}
      label={label}
      text={textOf(field, value, labels)}
      isChosen={choice === side}
      onChoose={() => onChoose(side)}
    />
  );
  return (
    <fieldset>
      <legend>{field.label}</legend>
      <Version label={texts.record.conflict.before} text={textOf(field, before, labels)} />
      {isConflict ? (
        <>
          {choiceOf('theirs', texts.record.conflict.stored, now)}
          {choiceOf('mine', texts.record.conflict.yours, mine)}
        </>
      ) : (
        <>
          <Version
            label={texts.record.conflict.stored}
            text={textOf(field, now, labels)}
            isKept={isTheirs && !isMine}
          />
          <Version
            label={texts.record.conflict.yours}
            text={isMine ? textOf(field, mine, labels) : texts.record.conflict.notChanged}
            isKept={isMine}
          />
        </>
      )}
    </fieldset>
  );
}

function ConflictDialog({
  resource,
  versions,
  close,
}: {
  resource: ResourceInfo;
  versions: Versions;
  /** Gets the changes to `theirs`; undefined if the user continues to edit. */
  close: (kept: Changes | undefined) => void;
}) {
  const rows = compare(resource, versions);
  const conflicts = rows.filter(({ isConflict }) => isConflict);
  const [choices, setChoices] = useState<Readonly<Record<string, Side>>>({});
  const isMissing = conflicts.some(({ field }) => choices[field.name] === undefined);
  const keep = ({ isMine, isConflict, field }: Comparison) => isMine && (!isConflict || choices[field.name] === 'mine');
  const finish = () => {
    const kept = rows.filter(keep).map(({ field, mine }) => [field.name, mine]);
    close(Object.fromEntries(kept));
  };
  return (
    <Dialog title={texts.record.conflict.title} onClose={() => close(undefined)} wide={true}>
      <p>{conflicts.length === 0 ? texts.record.conflict.different : texts.record.conflict.choose}</p>
      <div class="conflict">
        {rows.map((row) => (
          <ComparedField
            key={row.field.name}
            row={row}
            labels={versions.labels}
            choice={choices[row.field.name]}
            onChoose={(side) => setChoices({ ...choices, [row.field.name]: side })}
          />
        ))}
      </div>
      <footer>
        <button type="button" onClick={() => close(undefined)}>
          {texts.record.conflict.continue}
        </button>
        <button type="button" class="primary" disabled={isMissing} onClick={finish}>
          {texts.record.conflict.save}
        </button>
      </footer>
    </Dialog>
  );
}

/**
 * Shows the three versions of a record and lets the user choose.
 *
 * @returns the changes to `theirs`; undefined if the user continues to edit
 */
export const resolveConflict = (resource: ResourceInfo, versions: Versions): Promise<Changes | undefined> =>
  openDialog(({ close }) => <ConflictDialog resource={resource} versions={versions} close={close} />);
