import { useState } from 'preact/hooks';
import { Icon } from '../../../kit/icons.tsx';
import { showError } from '../../../kit/toasts.tsx';
import { call } from '../../api.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { isSecret } from '../format.tsx';
import { recordsPath } from '../schema.ts';
import { ariaProps, type EditorProps, type ValueProps } from './editor-props.ts';

/** What stands for the stored value. For encrypted fields, the server returns it on request and records that in the audit trail. */
function StoredValue({ field, resource, record, saved }: Pick<ValueProps, 'field' | 'resource' | 'record' | 'saved'>) {
  const [revealed, setRevealed] = useState<{ value: unknown } | undefined>(undefined);
  const isSet = isSecret(saved) && saved.isSet;
  const reveal = async (of: ResourceInfo, id: string) => {
    try {
      const path = recordsPath(of, id, 'reveal');
      const { data } = await call<{ value: unknown }>(path, { method: 'POST', body: { field: field.name } });
      setRevealed(data);
    } catch (error) {
      showError(error);
    }
  };
  if (revealed !== undefined)
    return (
      <>
        <span class="soft">
          <code>{typeof revealed.value === 'string' ? revealed.value : JSON.stringify(revealed.value)}</code>
        </span>
        <button type="button" onClick={() => setRevealed(undefined)}>
          {texts.editors.hide}
        </button>
      </>
    );
  return (
    <>
      <span class="soft">{isSet ? '••••••••' : texts.editors.secretNotSet}</span>
      {resource && record && field.encrypted && !field.writeOnly && isSet && (
        <button type="button" onClick={() => reveal(resource, record.id)}>
          <Icon name="eye" />
          {texts.editors.reveal}
        </button>
      )}
    </>
  );
}

/**
 * A value that the server does not return: whether it is set, a new value, and for encrypted fields the stored one on request. A draft of
 * `undefined` keeps the stored value.
 */
export function SecretEditor({ Inner, ...props }: EditorProps) {
  const { id, field, value, saved, onChange, isNew } = props;
  const [isReplacing, setReplacing] = useState(isNew === true);
  if (!isReplacing)
    return (
      <div class="secret-row">
        <StoredValue {...props} />
        <button type="button" id={id} onClick={() => setReplacing(true)}>
          <Icon name="key" />
          {isSecret(saved) && saved.isSet ? texts.editors.replace : texts.editors.set}
        </button>
      </div>
    );
  const keep = () => {
    setReplacing(false);
    onChange(undefined);
  };
  return (
    <>
      {field.type === 'password' ? (
        <input
          id={id}
          type="password"
          autocomplete="new-password"
          value={typeof value === 'string' ? value : ''}
          onInput={({ currentTarget: { value: text } }) => onChange(text === '' ? undefined : text)}
          {...ariaProps(props)}
        />
      ) : (
        <Inner {...props} field={{ ...field, encrypted: false, writeOnly: false }} value={value ?? null} />
      )}
      {!isNew && (
        <button type="button" class="plain" onClick={keep}>
          {texts.editors.keepStored}
        </button>
      )}
    </>
  );
}
