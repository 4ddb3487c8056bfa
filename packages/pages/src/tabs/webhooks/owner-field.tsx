import { FormField, ReferencePicker, userResource } from '../../console/kit.ts';
import { texts } from './texts.ts';

/** Chooses the user to whom a new endpoint belongs. */
export function OwnerField({
  form,
  value,
  onChange,
  errors = {},
  hint,
}: {
  /** Begins the id of the field. */
  form: string;
  value: string | null;
  onChange: (id: string | null) => void;
  errors?: Readonly<Record<string, string>>;
  hint?: string;
}) {
  const users = userResource();
  if (users === undefined) return null;
  return (
    <FormField form={form} name="owner" label={texts.owner} errors={errors} hint={hint}>
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
