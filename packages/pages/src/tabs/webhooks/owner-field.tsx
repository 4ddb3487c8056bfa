import { FormField, ReferencePicker, userResource } from '../../console/kit.ts';
import { texts } from './texts.ts';

/** Chooses the user, or the organisation, to which a new endpoint belongs. */
export function OwnerField({
  form,
  value,
  onChange,
  errors = {},
  hint,
  isOrganisation = false,
}: {
  /** Begins the id of the field. */
  form: string;
  value: string | null;
  onChange: (id: string | null) => void;
  errors?: Readonly<Record<string, string>>;
  hint?: string;
  isOrganisation?: boolean;
}) {
  const resource = isOrganisation ? 'organisation' : userResource()?.name;
  if (resource === undefined) return null;
  return (
    <FormField form={form} name="owner" label={texts.owner} errors={errors} hint={hint}>
      {(control) => (
        <ReferencePicker
          key={resource}
          id={control.id}
          resource={resource}
          value={value}
          onChange={onChange}
          invalid={control['aria-invalid'] === 'true'}
          describedBy={control['aria-describedby']}
        />
      )}
    </FormField>
  );
}

/** Chooses whether a new endpoint belongs to a user or to an organisation. */
export function OwnerKindField({
  isOrganisation,
  onChange,
}: {
  isOrganisation: boolean;
  onChange: (isOrganisation: boolean) => void;
}) {
  return (
    <FormField form="webhooks" name="owner-kind" label={texts.form.ownerKind} errors={{}}>
      {(control) => (
        <select
          {...control}
          value={isOrganisation ? 'organisation' : 'user'}
          onChange={({ currentTarget }) => onChange(currentTarget.value === 'organisation')}
        >
          <option value="user">{texts.form.user}</option>
          <option value="organisation">{texts.form.organisation}</option>
        </select>
      )}
    </FormField>
  );
}
