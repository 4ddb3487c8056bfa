import { call, FormField, focusFirstError, html, ReferencePicker, userResource } from 'belfry/console';
import { useRef, useState } from 'preact/hooks';
import { PLATFORMS } from '../outcome.js';

/** A form that adds a simulated device. @param {{ hasUsers: boolean, onDone: () => Promise<void> }} props */
export function AddForm({ hasUsers, onDone }) {
  const [user, setUser] = useState(null);
  const [platform, setPlatform] = useState('ios');
  const [name, setName] = useState('');
  const [{ errors, message }, setProblem] = useState({ errors: {} });
  const [isRunning, setRunning] = useState(false);
  const form = useRef(null);
  const add = async (event) => {
    event.preventDefault();
    setRunning(true);
    try {
      await call('/push/simulator/devices', {
        method: 'POST',
        body: { user: user ?? '', platform, ...(name && { name }) },
      });
      setName('');
      setProblem({ errors: {} });
      await onDone();
    } catch (error) {
      const details = error.details ?? {};
      setProblem({ message: error.message, errors: user === null ? { ...details, user: 'Choose a user' } : details });
      focusFirstError(form.current);
    }
    setRunning(false);
  };
  return html`<form class="push-form" aria-labelledby="add-heading" ref=${form} onSubmit=${add}>
    <h2 id="add-heading">Add a device</h2>
    ${message && html`<p class="banner bad push-wide" role="alert">${message}</p>`}
    <${FormField} form="add" name="user" label="User" errors=${errors}>
      ${(control) => html`<${ReferencePicker}
        id=${control.id}
        resource=${userResource().name}
        value=${user}
        onChange=${setUser}
        invalid=${control['aria-invalid'] === 'true'}
        describedBy=${control['aria-describedby']}
      />`}
    <//>
    <${FormField} form="add" name="platform" label="Platform" errors=${errors}>
      ${(
        control,
      ) => html`<select ...${control} value=${platform} onChange=${(event) => setPlatform(event.target.value)}>
        ${Object.entries(PLATFORMS).map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
      </select>`}
    <//>
    <${FormField} form="add" name="name" label="Name" errors=${errors}>
      ${(control) => html`<input ...${control} maxlength="100" placeholder="Ada's phone" value=${name} onInput=${(event) => setName(event.target.value)} />`}
    <//>
    <button type="submit" class="primary" disabled=${!hasUsers || isRunning} aria-describedby=${hasUsers ? undefined : 'add-missing'}>Add</button>
    ${
      !hasUsers &&
      html`<p class="soft push-wide" id="add-missing">There are no users yet. Register one first; every device belongs to a user.</p>`
    }
  </form>`;
}
