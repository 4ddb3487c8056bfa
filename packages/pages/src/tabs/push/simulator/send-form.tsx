import { useState } from 'preact/hooks';
import { call, FormField, navigate, RequestError, showToast, toRequestError } from '../../../console/kit.ts';
import { numberText } from '../../../kit/numbers.ts';
import { PUSH } from '../outcome.tsx';
import type { SendResult, SimulatedDevice } from '../responses.ts';
import { texts } from '../texts.ts';
import { useSubmit } from '../use-submit.ts';

interface MessageField {
  label: string;
  placeholder?: string;
  maxlength?: number;
  /** Of a text with several lines. */
  rows?: number;
}

/** The text of a message, by the names of its fields. */
const TEXT_FIELDS: Readonly<Record<string, MessageField>> = {
  title: { label: texts.messageTitle, maxlength: 250 },
  body: { label: texts.messageBody, maxlength: 2000, rows: 3 },
};
/** Fields that most messages leave out; the more common ones first. */
const OPTIONAL_FIELDS: Readonly<Record<string, MessageField>> = {
  subtitle: { label: texts.form.subtitle, maxlength: 250 },
  url: { label: texts.form.url, placeholder: '/posts/1' },
  image: { label: texts.form.image, placeholder: 'https://…' },
  badge: { label: texts.form.badge },
  group: { label: texts.form.group },
  collapseId: { label: texts.form.collapseId, maxlength: 64 },
  icon: { label: texts.form.icon, placeholder: 'https://…' },
  channel: { label: texts.form.channel },
  category: { label: texts.form.category },
  sound: { label: texts.form.sound, placeholder: 'default' },
  ttl: { label: texts.form.ttl },
  data: { label: texts.form.data, placeholder: texts.form.dataExample },
};
const NUMBERS = new Set(['badge', 'ttl']);
/** Fields whose controls are not those of texts. */
const OTHER_FIELDS = ['priority', 'silent'];
const EXAMPLE: Draft = { title: texts.form.exampleTitle, body: texts.form.exampleBody };

/** What the user has typed, by the names of the fields. */
type Draft = Readonly<Record<string, string>>;
type Errors = Readonly<Record<string, string>>;

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const data = texts.form.notJson(toRequestError(error).message);
    throw new RequestError(undefined, data, { details: { data } });
  }
}

/** The message with the fields that are filled in. @throws RequestError if the data is not JSON */
function toContent(draft: Draft): Record<string, unknown> {
  const convert = (name: string, value: string) => {
    if (NUMBERS.has(name)) return Number(value);
    return name === 'data' ? parseData(value) : value;
  };
  const filled = Object.entries(draft).filter(([, value]) => value !== '');
  return Object.fromEntries(filled.map(([name, value]) => [name, convert(name, value)]));
}

/** Says how the push went, with a way to its page. */
function announce({ id, status, devices, results }: SendResult): void {
  const accepted = results.filter(({ ok }) => ok).length;
  const action = { label: texts.form.show, run: () => navigate(`${PUSH}/sends/${id}`) };
  showToast(status === 'queued' ? texts.form.queued : texts.form.accepted(numberText(accepted), numberText(devices)), {
    action,
  });
}

/** What the fields of a message share. */
interface FieldsProps {
  draft: Draft;
  errors: Errors;
  onChange: (name: string, value: string) => void;
}

function TextFields({ of, draft, errors, onChange }: FieldsProps & { of: Readonly<Record<string, MessageField>> }) {
  return Object.entries(of).map(([name, { label, rows, ...attributes }]) => (
    <FormField key={name} form="send" name={name} label={label} errors={errors}>
      {(control) => {
        const onInput = (event: { currentTarget: { value: string } }) => onChange(name, event.currentTarget.value);
        const shared = { ...control, ...attributes, value: draft[name] ?? '', onInput };
        if (NUMBERS.has(name)) return <input {...shared} type="number" min={0} />;
        return rows === undefined ? <input {...shared} /> : <textarea {...shared} rows={rows} />;
      }}
    </FormField>
  ));
}

function PriorityField({ draft, errors, onChange }: FieldsProps) {
  return (
    <FormField form="send" name="priority" label={texts.form.priority} errors={errors}>
      {(control) => (
        <select
          {...control}
          value={draft.priority ?? ''}
          onChange={(event) => onChange('priority', event.currentTarget.value)}
        >
          <option value="">{texts.form.high}</option>
          <option value="normal">{texts.form.normal}</option>
        </select>
      )}
    </FormField>
  );
}

/** Says why nothing was sent, unless the fields themselves say it. */
function Problem({ message, errors }: { message: string | undefined; errors: Errors }) {
  const known = [...Object.keys(TEXT_FIELDS), ...Object.keys(OPTIONAL_FIELDS), ...OTHER_FIELDS];
  const others = Object.entries(errors).filter(([name]) => !known.includes(name));
  if (message === undefined || others.length < Object.keys(errors).length) return null;
  return (
    <p class="banner bad push-wide" role="alert">
      {[message, ...others.map(([name, text]) => `${name}: ${text}`)].join(' · ')}
    </p>
  );
}

/** A form that sends a message to all simulated devices. */
export function SendForm({ devices, onDone }: { devices: SimulatedDevice[]; onDone: () => Promise<void> }) {
  const [draft, setDraft] = useState(EXAMPLE);
  const [isSilent, setSilent] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const onChange = (name: string, value: string) => setDraft({ ...draft, [name]: value });
  const { message, errors, isRunning, props } = useSubmit(async () => {
    try {
      const content = { ...toContent(draft), ...(isSilent && { silent: true }) };
      const body = { deviceIds: devices.map(({ id }) => id), content };
      announce((await call<SendResult>('/push/simulator/sends', { method: 'POST', body })).data);
    } catch (thrown) {
      const error = toRequestError(thrown);
      if (Object.keys(error.details).some((name) => !Object.hasOwn(TEXT_FIELDS, name))) setOpen(true);
      throw error;
    }
    await onDone();
  });
  const fields = { draft, errors, onChange };
  return (
    <form class="push-form" aria-labelledby="send-heading" {...props} novalidate>
      <h2 id="send-heading">{devices.length > 1 ? texts.form.headingForAll(devices.length) : texts.form.heading}</h2>
      <Problem message={message} errors={errors} />
      <div class="push-main">
        <TextFields of={TEXT_FIELDS} {...fields} />
      </div>
      <details class="push-wide" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{texts.form.more}</summary>
        <div class="push-fields">
          <TextFields of={OPTIONAL_FIELDS} {...fields} />
          <PriorityField {...fields} />
          <label class="check">
            <input type="checkbox" checked={isSilent} onChange={(event) => setSilent(event.currentTarget.checked)} />
            {texts.form.silent}
          </label>
        </div>
      </details>
      <button
        type="submit"
        class="primary push-wide"
        disabled={devices.length === 0 || isRunning}
        aria-describedby={devices.length === 0 ? 'send-missing' : undefined}
      >
        {texts.form.submit}
      </button>
      {devices.length === 0 && (
        <p class="soft push-wide" id="send-missing">
          {texts.form.noDevices}
        </p>
      )}
    </form>
  );
}
