import { Code, Dialog, openDialog } from '../../console/kit.ts';
import type { NewSecret } from './responses.ts';
import { texts } from './texts.ts';

/**
 * Shows a new secret, which the server never returns again.
 *
 * @returns when the user has closed the dialog
 */
export function showSecret({ secret, publicKey }: NewSecret): Promise<void> {
  return openDialog<void>(({ close }) => (
    <Dialog title={texts.secret.title} onClose={() => close()}>
      <p>{texts.secret.text}</p>
      <Code text={secret} label={texts.secret.label} />
      {publicKey && (
        <>
          <p>{texts.secret.publicKeyText}</p>
          <Code text={publicKey} label={texts.secret.publicKey} />
        </>
      )}
      <footer>
        <button type="button" class="primary" onClick={() => close()}>
          {texts.secret.stored}
        </button>
      </footer>
    </Dialog>
  ));
}
