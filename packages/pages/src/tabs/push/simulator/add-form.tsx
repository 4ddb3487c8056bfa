import { useState } from 'preact/hooks';
import { call, FormField, ReferencePicker, RequestError, toRequestError, userResource } from '../../../console/kit.ts';
import { PLATFORMS } from '../outcome.tsx';
import { texts } from '../texts.ts';
import { useSubmit } from '../use-submit.ts';

function UserField({
  value,
  onChange,
  errors,
}: {
  value: string | null;
  onChange: (id: string | null) => void;
  errors: Readonly<Record<string, string>>;
}) {
  const users = userResource();
  if (users === undefined) return null;
  return (
    <FormField form="add" name="user" label={texts.user} errors={errors}>
      {(control) => (
        <ReferencePicker
          id={control.id}
          resource={users.name}
          value={value}
          onChange={onChange}
          invalid={control['aria-invalid'] === 'true'}
          describedBy={control['aria-describedby']}
        />
      )}
    </FormField>
  );
}

/** A form that adds a simulated device. */
export function AddForm({ hasUsers, onDone }: { hasUsers: boolean; onDone: () => Promise<void> }) {
  const [user, setUser] = useState<string | null>(null);
  const [platform, setPlatform] = useState('ios');
  const [name, setName] = useState('');
  const { message, errors, isRunning, props } = useSubmit(async () => {
    const body = { user: user ?? '', platform, ...(name && { name }) };
    try {
      await call('/push/simulator/devices', { method: 'POST', body });
    } catch (thrown) {
      const error = toRequestError(thrown);
      if (user !== null) throw error;
      throw new RequestError(error.status, error.message, {
        details: { ...error.details, user: texts.simulator.noUserChosen },
      });
    }
    setName('');
    await onDone();
  });
  return (
    <form class="push-form" aria-labelledby="add-heading" {...props}>
      <h2 id="add-heading">{texts.simulator.add}</h2>
      {message && (
        <p class="banner bad push-wide" role="alert">
          {message}
        </p>
      )}
      <UserField value={user} onChange={setUser} errors={errors} />
      <FormField form="add" name="platform" label={texts.platform} errors={errors}>
        {(control) => (
          <select {...control} value={platform} onChange={(event) => setPlatform(event.currentTarget.value)}>
            {Object.entries(PLATFORMS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </FormField>
      <FormField form="add" name="name" label={texts.name} errors={errors}>
        {(control) => (
          <input
            {...control}
            maxlength={100}
            placeholder={texts.simulator.nameExample}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </FormField>
      <button
        type="submit"
        class="primary"
        disabled={!hasUsers || isRunning}
        aria-describedby={hasUsers ? undefined : 'add-missing'}
      >
        {texts.simulator.addSubmit}
      </button>
      {!hasUsers && (
        <p class="soft push-wide" id="add-missing">
          {texts.simulator.noUsers}
        </p>
      )}
    </form>
  );
}
