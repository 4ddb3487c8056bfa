import { Code, Dialog, html, openDialog } from 'belfry/console';

/**
 * Shows a new secret, which the server never returns again.
 *
 * @param {{ secret: string, publicKey?: string }} endpoint
 * @returns {Promise<void>} when the user has closed the dialog
 */
export function showSecret({ secret, publicKey }) {
  return openDialog(
    ({ close }) => html`<${Dialog} title="The secret of the endpoint" onClose=${() => close()}>
      <p>Give it to the operator of the receiver, which verifies signatures with it. It is shown only now.</p>
      <${Code} text=${secret} label="Secret" />
      ${publicKey && html`<p>A receiver can verify with the public key instead:</p><${Code} text=${publicKey} label="Public key" />`}
      <footer><button type="button" class="primary" onClick=${() => close()}>I have stored it</button></footer>
    <//>`,
  );
}
