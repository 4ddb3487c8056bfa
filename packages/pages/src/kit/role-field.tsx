import { FormField } from './form-field.tsx';
import { texts } from './texts.ts';

/** The roles as which endpoints of organisations can read: `org:owner`, … `default`: that of an endpoint that was created without one. */
export interface EndpointRoles {
  all: readonly string[];
  default: string;
}

/** Chooses the role as which the endpoint of an organisation reads. @param props `value`: the role now; undefined for a new endpoint */
export function RoleField({
  form,
  roles,
  value,
  errors = {},
}: {
  /** Begins the id of the field. */
  form: string;
  roles: EndpointRoles;
  value: string | undefined;
  errors?: Readonly<Record<string, string>>;
}) {
  // A deploy may have removed the role of the endpoint.
  const all = value === undefined || roles.all.includes(value) ? roles.all : [value, ...roles.all];
  return (
    <FormField form={form} name="as" label={texts.role.label} hint={texts.role.hint} errors={errors}>
      {(control) => (
        <select {...control} name="as">
          {all.map((role) => (
            <option key={role} value={role} selected={role === (value ?? roles.default)}>
              {role}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

/** Returns the chosen role, to be sent if it is new. */
export function readRole(data: FormData, value: string | undefined): { as?: string } {
  const chosen = data.get('as');
  return typeof chosen === 'string' && chosen !== value ? { as: chosen } : {};
}
