import { toRequestError } from '../../../kit/request.ts';
import { texts } from '../../texts.ts';
import type { ValueProps } from './editor-props.ts';
import { JsonText } from './values.ts';

function textOf(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  return value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
}

/** The error of a text that is not valid JSON, with its position; undefined for valid and for empty texts. */
function findError(value: unknown): string | undefined {
  if (!(value instanceof JsonText)) return undefined;
  try {
    value.parse();
    return undefined;
  } catch (error) {
    return toRequestError(error).message;
  }
}

/** JSON as text. The text is kept as it is typed, and its error is shown at once. */
export function JsonEditor({
  id,
  value,
  onChange,
  invalid,
  describedBy,
}: Pick<ValueProps, 'id' | 'value' | 'onChange' | 'invalid' | 'describedBy'>) {
  const text = textOf(value);
  const error = findError(value);
  return (
    <>
      <textarea
        id={id}
        class="code-input"
        rows={Math.min(18, Math.max(4, text.split('\n').length + 1))}
        spellcheck={false}
        value={text}
        aria-invalid={invalid || error !== undefined ? 'true' : undefined}
        aria-describedby={[error && `${id}-syntax`, describedBy].filter(Boolean).join(' ') || undefined}
        onInput={(event) => onChange(new JsonText(event.currentTarget.value))}
      ></textarea>
      {error && (
        <p class="field-error" id={`${id}-syntax`}>
          {error}
        </p>
      )}
      {value instanceof JsonText && !error && text.trim() !== '' && (
        <button
          type="button"
          class="plain"
          onClick={() => onChange(new JsonText(JSON.stringify(value.parse(), null, 2)))}
        >
          {texts.editors.format}
        </button>
      )}
    </>
  );
}
