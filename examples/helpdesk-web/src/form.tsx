import { ApiError } from '@belfry/client';
import type { ComponentProps, ReactNode, SubmitEvent } from 'react';
import { createContext, useContext, useId, useState } from 'react';

/** The errors of the form, by field. */
const Messages = createContext<Partial<Record<string, string>>>({});

interface FormProps {
  submit: string;
  /** Sends the values. Its errors are shown, beside the fields that they name. */
  run(values: FormData, reportProgress: (part: number) => void): Promise<unknown>;
  /** Clears the fields at once. If the request fails, the values return. */
  clearsAtOnce?: boolean;
  children?: ReactNode;
}

/** A form that sends its values to the API. */
export function Form({ submit, run, clearsAtOnce = false, children }: FormProps) {
  const [error, setError] = useState<Error>();
  const [progress, setProgress] = useState<number>();
  const [isSending, setSending] = useState(false);

  async function send(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const values = new FormData(form);
    const fields = [...form.elements] as HTMLInputElement[];
    setError(undefined);
    setSending(!clearsAtOnce);
    if (clearsAtOnce) form.reset();
    try {
      await run(values, setProgress);
      if (!clearsAtOnce) form.reset();
    } catch (failure) {
      setError(failure as Error);
      for (const field of clearsAtOnce ? fields : []) {
        field.value ||= String(values.get(field.name) ?? '');
        field.checked ||= values.has(field.name);
      }
      if (failure instanceof ApiError) fields.find(({ name }) => name in failure.details)?.focus();
    }
    setSending(false);
    setProgress(undefined);
  }

  return (
    <form onSubmit={send} aria-busy={isSending} noValidate>
      <Messages value={error instanceof ApiError ? error.details : {}}>{children}</Messages>
      {error && <p role="alert">{error.message}</p>}
      {progress !== undefined && <progress value={progress} aria-label="Upload" />}
      <button type="submit" disabled={isSending} children={submit} />
    </form>
  );
}

type InputProps = ComponentProps<'input'> & { label: string; rows?: number; options?: Record<string, string> };

/** A labelled input, text area (with `rows`) or select (with `options`, the texts by value), with its error. */
export function Field({ label, options, ...rest }: InputProps) {
  const id = useId();
  const message = useContext(Messages)[rest.name ?? ''];
  const Control = (options ? 'select' : rest.rows ? 'textarea' : 'input') as 'input';
  const choices = Object.entries(options ?? {}).map(([value, text]) => (
    <option key={value} value={value} children={text} />
  ));
  const error = { 'aria-invalid': message !== undefined, 'aria-describedby': `${id}-error` };
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <Control {...rest} {...error} id={id} children={options && choices} />
      <small id={`${id}-error`} role="alert" children={message} />
    </div>
  );
}
