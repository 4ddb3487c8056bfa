import { useState } from 'preact/hooks';
import { Dialog } from '../../../kit/dialog.tsx';
import { toRequestError } from '../../../kit/request.ts';
import { texts as kitTexts } from '../../../kit/texts.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { FieldEditor } from '../editors/editor.tsx';
import { isEditable } from '../editors/locks.ts';
import { toInput } from '../editors/values.ts';
import { countText } from '../schema.ts';
import { Choices } from './filter-value.tsx';

/** Chooses a field and its value for several records. */
export function SetFieldDialog({
  resource,
  count,
  close,
}: {
  resource: ResourceInfo;
  /** The number of records. */
  count: number;
  /** Gets the value of the field; undefined if the administrator cancels. */
  close: (values: Record<string, unknown> | undefined) => void;
}) {
  const fields = resource.fields.filter((field) => isEditable(field));
  const names = fields.map((field) => field.name);
  const [name = '', setName] = useState(names[0]);
  const [value, setValue] = useState<unknown>(null);
  const [error, setError] = useState<string | undefined>(undefined);
  const field = fields.find((one) => one.name === name);
  const choose = (next: string) => {
    setName(next);
    setValue(null);
    setError(undefined);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (field === undefined) return;
    try {
      close({ [field.name]: toInput(field, value) });
    } catch (failure) {
      setError(toRequestError(failure).message);
    }
  };
  return (
    <Dialog title={texts.list.bulk.setFieldTitle(countText(resource, count))} onClose={() => close(undefined)}>
      <form class="stack" onSubmit={submit}>
        <label for="set-field">
          {texts.list.filters.field}
          <Choices id="set-field" options={fields.map((one) => [one.name, one.label])} value={name} onChange={choose} />
        </label>
        {field && (
          <FieldEditor
            key={name}
            field={field}
            resource={resource}
            value={value}
            onChange={setValue}
            error={error}
            labels={{}}
          />
        )}
        <footer>
          <button type="button" onClick={() => close(undefined)}>
            {kitTexts.cancel}
          </button>
          <button type="submit" class="primary" disabled={field === undefined}>
            {texts.list.bulk.setForAll(count)}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
