import { Code, Dialog, openDialog } from '../../console/kit.ts';
import type { NewSecret } from './responses.ts';

/**
 * Shows a new secret, which the server never returns again.
 *
 * @returns when the user has closed the dialog
 */
export function showSecret({ secret, publicKey }: NewSecret): Promise<void> {
  return openDialog<void>(({ close }) => (
    <Dialog title="The secret of the endpoint" onClose={() => close()}>
      <p>Give it to the operator of the receiver, which verifies signatures with it. It is shown only now.</p>
      <Code text={secret} label="Secret" />
      {publicKey && (
        <>
          <p>A receiver can verify with the public key instead:</p>
          <Code text={publicKey} label="Public key" />
        </>
      )}
      <footer>
        <button type="button" class="primary" onClick={() => close()}>
          I have stored it
        </button>
      </footer>
    </Dialog>
  ));
}
