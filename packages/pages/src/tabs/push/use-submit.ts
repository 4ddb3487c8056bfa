import { useRef, useState } from 'preact/hooks';
import { focusFirstError, type RequestError, toRequestError } from '../../console/kit.ts';

/** The submission of a form: whether it runs, and its last error. `props` are those of the form. */
export function useSubmit(run: () => Promise<void>) {
  const [error, setError] = useState<RequestError>();
  const [isRunning, setRunning] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    setRunning(true);
    try {
      await run();
      setError(undefined);
    } catch (thrown) {
      setError(toRequestError(thrown));
      focusFirstError(form.current);
    }
    setRunning(false);
  };
  return { message: error?.message, errors: error?.details ?? {}, isRunning, props: { ref: form, onSubmit } };
}
