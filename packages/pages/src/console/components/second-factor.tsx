import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../kit/dialog.tsx';
import { RequestError } from '../../kit/request.ts';
import { texts as kitTexts } from '../../kit/texts.ts';
import { texts } from '../texts.ts';

/** Asks the administrator for a code of their second factor. @returns undefined if they cancel */
function askForCode(problem: string | undefined) {
  return openDialog<string | undefined>(function CodeDialog({ close }) {
    const [code, setCode] = useState('');
    const submit = (event: Event) => {
      event.preventDefault();
      close(code.trim());
    };
    return (
      <Dialog title={texts.components.secondFactor.title} onClose={() => close(undefined)}>
        <form class="stack" onSubmit={submit}>
          <p>{texts.components.secondFactor.intro}</p>
          <label>
            {texts.components.secondFactor.code}
            <input
              autocomplete="one-time-code"
              spellcheck={false}
              required
              maxlength={64}
              value={code}
              aria-invalid={problem === undefined ? undefined : 'true'}
              aria-describedby={problem === undefined ? undefined : 'second-factor-problem'}
              onInput={(event) => setCode(event.currentTarget.value)}
            />
          </label>
          {problem && (
            <p id="second-factor-problem" class="field-error" role="alert">
              {problem}
            </p>
          )}
          <footer>
            <button type="button" onClick={() => close(undefined)}>
              {kitTexts.cancel}
            </button>
            <button type="submit" class="primary">
              {texts.components.secondFactor.confirm}
            </button>
          </footer>
        </form>
      </Dialog>
    );
  });
}

/**
 * Sends an action. If it needs a code of the administrator's second factor, asks for it until it is right.
 *
 * @param send gets what to add to the body
 * @returns false if the administrator cancels
 */
export async function sendWithCode(send: (body: { code: string } | undefined) => Promise<unknown>): Promise<boolean> {
  let body: { code: string } | undefined;
  for (;;) {
    try {
      await send(body);
      return true;
    } catch (error) {
      if (!(error instanceof RequestError) || error.details.code === undefined) throw error;
      const code = await askForCode(body === undefined ? undefined : error.details.code);
      if (code === undefined) return false;
      body = { code };
    }
  }
}
