import type { ComponentChildren } from 'preact';
import { Field, type FieldProps } from './form.tsx';
import { config } from './session.ts';
import { labelFor, texts } from './texts.ts';

/** The field for the e-mail address of an account. */
export function EmailField(props: Partial<FieldProps>) {
  return <Field name="email" label={texts.fields.email} type="email" autocomplete="username" required {...props} />;
}

/** The field for the password of an account. */
export function PasswordField(props: Partial<FieldProps>) {
  return (
    <Field
      name="password"
      label={texts.fields.password}
      type="password"
      autocomplete="current-password"
      required
      {...props}
    />
  );
}

/** The field for a password that the user chooses. */
export function NewPasswordField(props: Partial<FieldProps>) {
  const { newPassword: label } = texts.fields;
  return <PasswordField label={label} autocomplete="new-password" hint={texts.hints.newPassword} {...props} />;
}

/** A field for a code of an e-mail or an authenticator app. */
export function CodeField(props: Partial<FieldProps>) {
  return (
    <Field name="code" label={texts.fields.code} autocomplete="one-time-code" inputmode="numeric" required {...props} />
  );
}

/** The field for a code of the authenticator app, or a recovery code. */
export function SecondFactorField() {
  return <CodeField hint={texts.hints.authenticatorCode} inputmode="text" />;
}

const AUTOCOMPLETE: Readonly<Record<string, string>> = { name: 'name', phone: 'tel', company: 'organization' };

/** The fields of a new account. `children` come after the first of them: the e-mail address, if the user chooses it. */
export function RegistrationFields({ children }: { children?: ComponentChildren }) {
  const { fields, passwordRequired } = config.registration;
  const all = [
    ...fields.map((field) => (
      <Field
        {...field}
        key={field.name}
        label={labelFor(field.name)}
        autocomplete={AUTOCOMPLETE[field.name] ?? 'off'}
      />
    )),
    <NewPasswordField key="password" label={texts.fields.password} required={passwordRequired} />,
  ];
  return (
    <>
      {all.slice(0, 1)}
      {children}
      {all.slice(1)}
    </>
  );
}
